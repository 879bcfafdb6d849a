"""The real wire with methods of its own, to test what every method gets from it. Run as a program."""

import asyncio
import os
import sys
from pathlib import Path

from attrs import frozen

from agent_ls.errors import SessionBusy
from agent_ls.protocol import SessionId
from agent_ls.wire.server import AgentServer
from agent_ls.wire.stdio import serve


@frozen
class EchoParams:
    """Params of agent/echo."""

    text: str


@frozen
class Echoed:
    """Result of agent/echo."""

    text: str


async def echo(params: EchoParams) -> object:
    match params.text:
        case "bug":
            raise RuntimeError("/secret/path")
        case "busy":
            raise SessionBusy("A turn is running.", hint="Wait.", session_id=SessionId("s"))
        case "print":
            print("stray")  # noqa: T201
            os.system("echo from a child")  # noqa: ASYNC221  # the child that writes to stdout is the point
            sys.stdout.write("no newline")
        case "unserialisable":
            return object()
        case "hang":
            await asyncio.Event().wait()
        case "big":
            return Echoed("x" * 10_000_000)
    return Echoed(params.text)


async def on_exit(why: str) -> None:
    with Path(os.environ["ECHO_EXIT_FILE"]).open("a") as file:  # noqa: ASYNC230
        file.write(f"{why}\n")
    if os.environ.get("ECHO_EXIT_HANGS"):
        await asyncio.Event().wait()


if __name__ == "__main__":
    server = AgentServer("echo")
    server.protocol.serve("agent/echo", EchoParams, echo)
    serve(server, on_exit, exit_seconds=1.0)
