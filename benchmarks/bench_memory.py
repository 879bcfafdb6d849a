"""Resident memory of the server, in MiB: idle, after the first answer, and with a long session.

python -m benchmarks.bench_memory [--megabytes N]
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

from agent_ls.history import History
from agent_ls.log.directory import session_directory
from benchmarks.bench_log import fill
from benchmarks.report import machine
from tests.e2e.raw_client import RawClient
from tests.simulator import Reply, Simulator

_SETTINGS = {"model": "openai:gpt-5", "memoryCompressionEnabled": False, "compactionEnabled": False}


def resident_mib(client: RawClient) -> float:
    """VmRSS of the server, from /proc (Linux)."""
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


def report(megabytes: float = 10.0) -> str:
    """The table."""
    with tempfile.TemporaryDirectory() as folder, Simulator(otherwise=Reply("Yes.")) as simulator:
        workspace, home = Path(folder, "workspace"), Path(folder, "home")
        workspace.mkdir()
        with RawClient(environ=simulator.environment, home=home) as client:
            client.initialize(workspace, settings=_SETTINGS)
            bare = resident_mib(client)
            client.request("agent/status", {})
            idle = resident_mib(client)
            client.request("agent/prompt", {"prompt": "Are you there?"})
            answered = resident_mib(client)
            client.shut_down()
        history = History.create(workspace, directory=session_directory(workspace).sessions)
        fill(history, megabytes)
        history.close()
        with RawClient(environ=simulator.environment, home=home) as client:
            client.initialize(workspace, settings=_SETTINGS)
            client.request("agent/resumeSession", {"sessionId": history.session_id, "workspace": workspace.as_uri()})
            resumed = resident_mib(client)
            client.shut_down()
    rows = [
        ("`initialize` answered", bare),
        ("idle, pydantic-ai imported", idle),
        ("after the first answer, provider's SDK imported", answered),
        (f"a session of {megabytes:.0f} MB resumed", resumed),
    ]
    lines = ["| server | resident | to idle |", "|---|---|---|"]
    lines += [f"| {name} | {mib:.0f} MiB | **{mib / idle:.2f}** |" for name, mib in rows]
    return "\n".join([*lines, "", f"{machine()}."])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=float, default=10.0)
    print(report(parser.parse_args().megabytes))


if __name__ == "__main__":
    main()
