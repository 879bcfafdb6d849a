"""The real wire with methods of its own, to test what every method gets from it. Run as a program."""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
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
        case "stdin of a child":
            return Echoed(subprocess.run(["cat"], stdout=subprocess.PIPE, text=True, check=True).stdout)  # noqa: ASYNC221
        case "unserialisable":
            return object()
        case "no number":
            return Echoed(float("nan"))  # type: ignore[arg-type]  # a result of the wrong type is the point
        case "hang":
            await asyncio.Event().wait()
        case "hang in a thread":
            await asyncio.to_thread(threading.Event().wait)
        case "hang in the loop":
            threading.Event().wait()
        case "stubborn":
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
        case "ends well":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                # A second cancel would stop it here.
                return Echoed(str(await server.protocol.ask("client/question", {})))
        case "ends late":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(2 * server.protocol.cancel_seconds)
                ended_late.set()
        case "wait for the late one":
            await ended_late.wait()
            await asyncio.sleep(0)
        case "ask":
            return Echoed(str(await server.protocol.ask("client/question", {"of": "echo"})))
        case "big":
            return Echoed("x" * 10_000_000)
    return Echoed(params.text)


ended_late = asyncio.Event()


async def notified(params: EchoParams) -> None:
    if params.text == "bug":
        raise RuntimeError("in a notification")
    server.protocol.notify("agent/noted", {"text": params.text})


async def on_exit(why: str) -> None:
    with Path(os.environ["ECHO_EXIT_FILE"]).open("a") as file:  # noqa: ASYNC230
        file.write(f"{why}\n")
    if os.environ.get("ECHO_EXIT_HANGS"):
        await asyncio.Event().wait()


server = AgentServer("echo")

if __name__ == "__main__":
    server.protocol.cancel_seconds = 0.5
    server.protocol.serve("agent/echo", EchoParams, echo)
    server.protocol.serve_notification("agent/note", EchoParams, notified)
    serve(server, on_exit, exit_seconds=1.0)
