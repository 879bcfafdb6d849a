"""From `Client.update` in the server to the message in the client's hands, over real pipes (DESIGN §9).

The server process sends text chunks that carry the moment they were handed over: first one every two milliseconds, for
the overhead, then as fast as it can, for the rate.
    python -m benchmarks.bench_notifications
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from typing import BinaryIO, Final, cast

from lsprotocol import types

from agent_ls.features.lsp_client import LspClient
from agent_ls.protocol import AgentMessageChunk, SessionId, TextContent, TurnId, UpdateNotification
from agent_ls.wire.framing import Body, read_frames
from agent_ls.wire.server import AgentServer
from agent_ls.wire.stdio import serve

PACED: Final = 1_000
FLOOD: Final = 50_000
PACE_SECONDS: Final = 0.002
MOST_OVERHEAD_SECONDS: Final = 0.001
LEAST_RATE: Final = 10_000
_STAMP: Final = re.compile(rb'"text": "(\d+)"')


def serve_notifications() -> None:
    """The server's side: sends everything once it was initialized."""
    server = AgentServer("benchmark")
    client = LspClient(server)

    def send(number: int) -> None:
        # Turns alternate, so that no two chunks can join.
        text = TextContent(str(time.perf_counter_ns()))
        client.update(UpdateNotification(SessionId("s"), TurnId(str(number % 2)), 0, AgentMessageChunk(text)))

    async def send_all() -> None:
        for number in range(PACED):
            send(number)
            await asyncio.sleep(PACE_SECONDS)
        for number in range(FLOOD):
            send(number)
            if number % 100 == 0:
                await asyncio.sleep(0)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        await send_all()

    async def on_exit(why: str) -> None:
        pass

    serve(server, on_exit, exit_seconds=1.0)


def send(stream: BinaryIO, message: object) -> None:
    body = json.dumps(message).encode()
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def measure() -> tuple[list[float], float]:
    """Seconds of overhead of each paced notification, in order of size, and notifications per second of the flood."""
    command = [sys.executable, "-m", "benchmarks.bench_notifications", "serve"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    overheads = []
    begin = end = 0.0
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        hello: dict[str, object] = {"capabilities": {}, "processId": None, "rootUri": None}
        send(cast(BinaryIO, process.stdin), {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        send(cast(BinaryIO, process.stdin), {"jsonrpc": "2.0", "method": "initialized", "params": {}})
        stamps = (
            int(found[1])
            for frame in read_frames(cast(BinaryIO, process.stdout))
            if isinstance(frame, Body) and (found := _STAMP.search(frame.data)) is not None
        )
        for number, stamp in enumerate(stamps):
            now = time.perf_counter_ns()
            if number < PACED:
                overheads.append((now - stamp) / 1e9)
            elif number == PACED:
                begin = stamp / 1e9
            if number == PACED + FLOOD - 1:
                end = now / 1e9
                break
        process.kill()
    return sorted(overheads), FLOOD / (end - begin)


def report() -> str:
    """The sentence."""
    overheads, rate = measure()
    median, p99 = statistics.median(overheads), overheads[len(overheads) * 99 // 100]
    return (
        f"{median * 1e3:.3f} ms median and "
        f"{p99 * 1e3:.2f} ms p99 of {PACED:,} (**{median / MOST_OVERHEAD_SECONDS:.2f}** of the 1 ms wanted). "
        f"{rate:,.0f} notifications a second over {FLOOD:,}, none of which could join another "
        f"(**{rate / LEAST_RATE:.2f}** of the {LEAST_RATE:,} wanted)."
    )


if __name__ == "__main__":
    serve_notifications() if sys.argv[1:] == ["serve"] else print(report())
