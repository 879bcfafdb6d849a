"""The sockets of a server: to the chosen provider and nobody else, and none that a session leaves behind."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.conftest import StartServer, allow
from tests.e2e.raw_client import RawClient
from tests.simulator import Reply, Simulator, ToolCall

_WATCH: Final = Path(__file__).parent / "watched_sockets"
_SESSIONS: Final = 6
_TRIES: Final = 5_000


def used(record: Path) -> list[list[Any]]:
    """The uses of sockets so far, without the lines that say that somebody watches."""
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert lines[0][0] == "watching"
    return [line for line in lines if line[0] != "watching"]


def sockets_of(client: RawClient) -> int:
    """How many sockets the server's process has open."""
    return sum(target.startswith("socket:") for target in _targets(Path(f"/proc/{client.process.pid}/fd")))


def _targets(descriptors: Path) -> Iterator[str]:
    for link in descriptors.iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            yield str(link.readlink())


@pytest.mark.parametrize("model", ["openai-chat:gpt-5", "anthropic:claude-sonnet-5-5"])
def test_a_whole_session_talks_to_the_chosen_provider_and_to_nobody_else(
    start_server: StartServer, workspace: Path, tmp_path: Path, model: str
) -> None:
    (workspace / "a.py").write_text("print('a')\n")
    record = tmp_path / "sockets"
    tools = [
        ToolCall("read_file", {"path": "a.py"}),
        ToolCall("search_files", {"pattern": "print"}),
        ToolCall("run_command", {"command": "ls"}),
    ]
    with Simulator(replies=[Reply(tool_calls=tools)], otherwise=Reply("Done.")) as simulator:
        client = start_server(
            simulator,
            model=model,
            agent={"permission": True},
            answers={"agent/requestPermission": allow()},
            environ={"PYTHONPATH": str(_WATCH), "SOCKET_RECORD": str(record)},
        )
        for prompt in ("Look around.", "/compact", "/context", "/memory", "Go on.", "/new", "Again."):
            client.response(client.start_request("agent/prompt", {"prompt": prompt}))
        client.request("agent/status")
        client.shut_down()
        assert len(simulator.requests) >= 5
        provider = ["127.0.0.1", simulator.port]
    uses = used(record)
    assert ["socket.connect", provider] in uses
    assert {json.dumps(about) for _, about in uses} == {json.dumps(provider)}


@pytest.mark.parametrize("command", [["doctor"], ["sessions"], ["--version"], ["inspect", "latest"]])
def test_commands_that_ask_no_model_use_no_socket(workspace: Path, tmp_path: Path, command: Sequence[str]) -> None:
    record = tmp_path / "sockets"
    home = {name: str(tmp_path / "home") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(_WATCH), "SOCKET_RECORD": str(record), **home}
    environ["OPENAI_API_KEY"] = "sk-not-used"
    subprocess.run([sys.executable, "-m", "agent_ls", *command], env=environ, cwd=workspace, check=False)
    assert used(record) == []


@pytest.mark.skipif(sys.platform != "linux", reason="a process's sockets are listed in /proc, which is Linux's")
def test_a_session_that_ended_leaves_no_connection_open(start_server: StartServer) -> None:
    with Simulator(otherwise=Reply("Yes.")) as simulator:
        client = start_server(
            simulator, model="openai-chat:gpt-5", settings={"compactionModel": "anthropic:claude-sonnet-5-5"}
        )
        before = sockets_of(client)
        for _ in range(_SESSIONS):
            client.request("agent/prompt", {"prompt": "Are you there?"})
            client.response(client.start_request("agent/compact", {}))
            client.request("agent/newSession", {})
        left = next((left for _ in range(_TRIES) if (left := _after_a_request(client)) <= before), None)
        assert left is not None, f"{sockets_of(client)} sockets, {before} before the first session"


def _after_a_request(client: RawClient) -> int:
    client.request("agent/status")
    return sockets_of(client)
