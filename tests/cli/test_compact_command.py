"""`agent-ls compact`: a session on disk, compacted as in an editor, or left exactly as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart

from agent_ls.cli.main import run
from agent_ls.history import History
from agent_ls.log.catalog import latest_session
from agent_ls.log.serialisation import dump_messages
from tests.simulator import Failure, Outcome, Reply, Simulator

SUMMARY = """# Conversation summary
## Goal
Fix the login test.
## Constraints & Preferences
None
## Progress
### Done
Froze the clock.
### In Progress
None
### Blocked
None
## Key Decisions
None
## Next Steps
None
## Critical Context
None
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    workspace = tmp_path / "project"
    workspace.mkdir()
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    messages: list[ModelMessage] = []
    for number in range(40):
        messages.append(ModelRequest.user_text_prompt(f"Question {number}: " + "why does the login test fail? " * 20))
        messages.append(ModelResponse(parts=[TextPart(f"Answer {number}: " + "the clock was off again. " * 20)]))
    source = tmp_path / "messages.json"
    source.write_bytes(dump_messages(messages))
    assert run(["import", str(source)]) == 0
    return latest_session(workspace / ".agent_ls" / "sessions")


def compact(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], outcome: Outcome, *options: str
) -> tuple[int, str, Simulator]:
    capsys.readouterr()
    with Simulator(otherwise=outcome) as simulator:
        for name, value in simulator.environment.items():
            monkeypatch.setenv(name, value)
        status = run(["compact", "--model", "openai:gpt-5", "--window", "16384", *options])
    return status, capsys.readouterr().out, simulator


def test_a_session_is_compacted_and_its_log_says_so(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, simulator = compact(
        monkeypatch, capsys, Reply(SUMMARY), "--keep", "2000", "--focus", "zebra crossings", "--json"
    )
    report = json.loads(out)
    assert status == 0
    assert report["outcome"] == "compacted"
    assert report["after"]["count"] < report["before"]["count"]
    assert "Froze the clock." in report["summary"]
    assert "zebra crossings" in simulator.requests[-1].text
    history = History.resume(log)
    assert len(history.messages) == report["messages"] < 20
    history.close()
    assert run(["inspect"]) == 0
    assert "(manual): " in capsys.readouterr().out


def test_a_failing_summariser_changes_nothing_and_is_said(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = log.read_bytes()
    status, out, _ = compact(monkeypatch, capsys, Failure(401))
    assert status == 1
    assert "Nothing was changed" in out
    assert log.read_bytes() == before


def test_a_second_time_there_is_nothing_to_compact(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compact(monkeypatch, capsys, Reply(SUMMARY), "--keep", "0")
    status, out, simulator = compact(monkeypatch, capsys, Reply(SUMMARY), "--keep", "0")
    assert status == 0
    assert "nothing to compact" in out.lower()
    assert not simulator.requests


def test_a_session_that_is_open_elsewhere_is_refused(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    history = History.resume(log)
    try:
        assert run(["compact", "--model", "openai:gpt-5"]) == 1
    finally:
        history.close()
    assert "has this session open" in capsys.readouterr().err


def test_a_bad_number_is_refused_before_anything_happens(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compact", "--window", "0"]) == 1
    assert "compaction_context_window_tokens = 0" in capsys.readouterr().err
