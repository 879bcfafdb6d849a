"""From starting the process to the answer to `initialize`, beside an empty pygls server (DESIGN §9: within 1.3x).

The two take turns, so that what else the machine does falls on both, and both find their bytecode cached.

    python -m benchmarks.bench_initialize [N]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.report import machine

PAIRS: Final = 15
LIMIT: Final = 1.3
EMPTY_PYGLS: Final = (
    sys.executable,
    "-c",
    "from pygls.lsp.server import LanguageServer; LanguageServer('empty', '1').start_io()",
)
AGENT_LS: Final = (sys.executable, "-m", "agent_ls", "--stdio")
INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}


def seconds_to_initialize(command: Sequence[str], environ: Mapping[str, str]) -> float:
    """Start a server, wait for its answer, end it."""
    body = json.dumps(INITIALIZE).encode()
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, env=environ
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        answered = process.stdout.read(1) == b"C"
        taken = time.perf_counter() - begin
        process.kill()
    assert answered, command
    return taken


def measure(pairs: int = PAIRS) -> tuple[float, float]:
    """Median seconds of an empty pygls server and of ours."""
    with tempfile.TemporaryDirectory() as cache:
        environ = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for command in (EMPTY_PYGLS, AGENT_LS):
            seconds_to_initialize(command, environ)
        times = [
            (seconds_to_initialize(EMPTY_PYGLS, environ), seconds_to_initialize(AGENT_LS, environ))
            for _ in range(pairs)
        ]
    empty, ours = (statistics.median(column) for column in zip(*times, strict=True))
    return empty, ours


def report(pairs: int = PAIRS) -> str:
    """The sentence."""
    empty, ours = measure(pairs)
    return (
        f"From the process's start to the answer to `initialize`: an empty pygls server {empty * 1e3:.0f} ms, agent_ls "
        f"{ours * 1e3:.0f} ms, **{ours / empty:.2f}** of it (limit {LIMIT}). Medians of {pairs} pairs; {machine()}."
    )


def main() -> None:
    """Print both medians and their ratio."""
    print(report(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS))


if __name__ == "__main__":
    main()
