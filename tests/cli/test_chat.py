"""`agent-ls chat` through pipes, as a script would use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.simulator import Failure, Reply, Simulator, ToolCall


def chat(simulator: Simulator, workspace: Path, typed: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = workspace.parent / "home"
    environ = {**os.environ, **simulator.environment, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "NO_COLOR": "1"}
    # Else the sentence for the memory, at the end of each chat, would take a scripted reply.
    environ["AGENT_LS_MEMORY_COMPRESSION_ENABLED"] = "false"
    command = [sys.executable, "-m", "agent_ls", "chat", str(workspace), "--model", "openai:gpt-5", *arguments]
    return subprocess.run(command, input=typed, capture_output=True, text=True, env=environ, check=False, timeout=100)


def test_prompts_are_answered_and_a_session_can_be_resumed(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    with Simulator(replies=[Reply("Hello to you."), Reply("You said hello.")]) as simulator:
        first = chat(simulator, workspace, "hello\n/help\n")
        assert first.returncode == 0, first.stderr
        assert "Hello to you." in first.stdout
        assert "/compact" in first.stdout
        again = chat(simulator, workspace, "what did I say?\n", "--resume")
        assert "> hello" in again.stdout
        assert "You said hello." in again.stdout
        assert not simulator.refused


def test_permission_is_asked_with_the_change_and_a_no_carries_its_reason(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    (workspace / "a.py").write_text("x = 1\n")
    write = Reply(tool_calls=[ToolCall("write_file", {"path": "a.py", "content": "x = 2\n"})])
    read = Reply(tool_calls=[ToolCall("read_file", {"path": "a.py"})])
    with Simulator(replies=[read, write, Reply("As you wish.")]) as simulator:
        done = chat(simulator, workspace, "change it\nnot on a Friday\n")
        assert "+x = 2" in done.stdout
        assert "As you wish." in done.stdout
        assert "not on a Friday" in str(simulator.requests[-1].body)
        assert (workspace / "a.py").read_text() == "x = 1\n"


def test_what_goes_wrong_is_said_in_words(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    with Simulator() as simulator:
        done = chat(simulator, workspace, "hello\n", "--model", "nobody:knows")
        assert "Unknown model 'nobody:knows'" in done.stdout
        assert done.returncode == 1
        lost = chat(simulator, workspace, "hello\n", "--resume", "nothing")
        assert lost.returncode == 1
        assert "nothing" in lost.stdout
        assert simulator.requests == []


def test_a_refused_key_is_said_once(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    with Simulator(replies=[Failure(401)]) as simulator:
        assert chat(simulator, workspace, "hello\n").stdout.count("Check the API key") == 1


def test_a_folder_that_is_not_there_is_said_and_no_server_started(tmp_path: Path) -> None:
    with Simulator() as simulator:
        done = chat(simulator, tmp_path / "nowhere", "hello\n")
    assert done.returncode == 1
    assert f"There is no folder {tmp_path / 'nowhere'}" in done.stderr
