"""A provider that streams as fast as it is told: each delta is the moment it was sent (benchmarks/bench_stream.py).

It speaks OpenAI's chat completions over HTTP in a process of its own (`provider`) and does what the newest user message
says: `PACED n` deltas, one every `PACE_SECONDS`, or `FLOOD n`, as fast as they are taken.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

PACED: Final = "PACED"
FLOOD: Final = "FLOOD"
PACE_SECONDS: Final = 0.002
_ORDER: Final = re.compile(rf"({PACED}|{FLOOD}) (\d+)")
_CHUNK: Final = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5"}


@contextmanager
def provider() -> Iterator[Mapping[str, str]]:
    """What a process needs in its environment to ask it."""
    command = [sys.executable, "-m", "benchmarks.stream_provider"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield {
                "OPENAI_API_KEY": "none",
                "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
                "NO_PROXY": "127.0.0.1",
            }
        finally:
            process.kill()


class Handler(BaseHTTPRequestHandler):
    """Answers a request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Nothing."""

    def do_POST(self) -> None:
        """Stream what is ordered."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        pace, number = _ORDER.findall(json.dumps(body["messages"]))[-1]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for _ in range(int(number)):
            if pace == PACED:
                time.sleep(PACE_SECONDS)
            self._send({"content": f"{time.perf_counter_ns()} "}, None)
        self._send({}, "stop")
        self._write(b"data: [DONE]\n\n")
        self._write(b"")

    def _send(self, delta: Mapping[str, str], finish: str | None) -> None:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        self._write(b"data: %s\n\n" % json.dumps({**_CHUNK, "choices": choices}).encode())

    def _write(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


def main() -> None:
    """Serve until killed; the first line of the output is the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
