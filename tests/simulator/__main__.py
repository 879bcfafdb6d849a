"""The simulator as a process: `python -m tests.simulator --script replies.py [--window N] [--port N] [--record FILE]`.

The script is a Python file that defines `replies`: a list of outcomes or a function of the request, with the names of
`tests.simulator` (Reply, ToolCall, Failure, ...) already there. Prints the environment to use as one line of JSON, runs
until stdin ends or SIGINT/SIGTERM, then writes what it recorded as JSON lines and exits 1 if it refused anything.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import runpy
import signal
import sys
from pathlib import Path
from types import FrameType

import tests.simulator as simulator


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description="A strict provider simulator.")
    parser.add_argument("--script", type=Path, required=True, help="Python file that defines `replies`")
    parser.add_argument("--window", type=int, default=200_000, help="tokens the models take")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path, help="write the requests here, one JSON object a line")
    arguments = parser.parse_args()
    names = {name: getattr(simulator, name) for name in simulator.__all__}
    replies = runpy.run_path(str(arguments.script), init_globals=names)["replies"]
    signal.signal(signal.SIGTERM, _interrupt)
    with simulator.Simulator(window=arguments.window, replies=replies, port=arguments.port) as running:
        sys.stdout.write(json.dumps(dict(running.environment)) + "\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.read()
        if arguments.record is not None:
            arguments.record.write_text("".join(f"{_line(request)}\n" for request in running.requests))
        for request in running.refused:
            sys.stderr.write(f"refused request {request.index}: {request.refusal}\n")
        return 1 if running.refused else 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _line(request: simulator.RecordedRequest) -> str:
    refusal = None if request.refusal is None else request.refusal.message
    return json.dumps(
        {
            "index": request.index,
            "protocol": request.protocol,
            "inputTokens": request.input_tokens,
            "refusal": refusal,
            "body": request.body,
        }
    )


if __name__ == "__main__":
    sys.exit(main())
