"""Commands over the logs on disk: import, sessions, inspect, export."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

from agent_ls.cli.main import run
from agent_ls.log.catalog import find_session, list_sessions, write_back_pending
from agent_ls.log.serialisation import dump_messages
from agent_ls.protocol import SessionId

MESSAGES: list[ModelMessage] = [
    ModelRequest.user_text_prompt("Why does the \x1b[31mlogin test fail?"),
    ModelResponse(parts=[ToolCallPart("read", {"path": "a\udcff.py"}, tool_call_id="c1")]),
    ModelRequest(parts=[ToolReturnPart("read", "line\u2028separator", tool_call_id="c1")]),
    ModelResponse(parts=[TextPart("The clock was off.")]),
]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def imported(workspace: Path, tmp_path: Path) -> str:
    source = tmp_path / "messages.json"
    source.write_bytes(dump_messages(MESSAGES))
    assert run(["import", str(source)]) == 0
    (row,) = list_sessions(workspace / ".agent_ls" / "sessions")
    return row.session_id


def exported(capsysbinary: pytest.CaptureFixture[bytes], *arguments: str) -> list[ModelMessage]:
    capsysbinary.readouterr()
    assert run(["export", *arguments]) == 0
    return ModelMessagesTypeAdapter.validate_python(json.loads(capsysbinary.readouterr().out))


def test_what_is_imported_is_exported_as_it_was(imported: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert exported(capsysbinary) == MESSAGES
    assert exported(capsysbinary, imported) == MESSAGES
    assert exported(capsysbinary, imported, "--all") == MESSAGES


def test_import_reads_stdin(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(dump_messages(MESSAGES))))
    assert run(["import", "-"]) == 0
    assert find_session(workspace / ".agent_ls" / "sessions", SessionId(capsys.readouterr().out.strip())).is_file()


def test_an_imported_session_leaves_nothing_for_the_memory(imported: str, workspace: Path) -> None:
    assert not write_back_pending(find_session(workspace / ".agent_ls" / "sessions", SessionId(imported)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "cannot be read as JSON"),
        ("{}", "no JSON array"),
        ('[{"kind": "request", "parts": []}, {"kind": "song"}]', "message 1 of"),
        (None, "No such file"),
    ],
)
def test_what_is_no_message_list_is_refused_and_makes_no_session(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, reason: str
) -> None:
    source = tmp_path / "messages.json"
    if content is not None:
        source.write_text(content)
    assert run(["import", str(source)]) == 1
    assert reason in capsys.readouterr().err
    assert not list(workspace.rglob("*.jsonl"))


def test_sessions_lists_the_newest_first_without_escapes(imported: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["sessions"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.startswith("SESSION")
    assert row.startswith(imported)
    assert row.endswith("4  Why does the login test fail?")


def test_sessions_as_json_lines(imported: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["sessions", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["sessionId"], row["messages"]) == (imported, 4)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_no_session_is_no_failure_and_nothing_is_made(
    workspace: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert run(["sessions", *options]) == 0
    assert ("There is no session" in capsys.readouterr().out) == (not options)
    assert not list(workspace.iterdir())


def test_inspect_tells_every_line_bad_ones_too(
    imported: str, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = find_session(workspace / ".agent_ls" / "sessions", SessionId(imported))
    with log.open("ab") as file:
        file.write(b"\x00\x00\n" + b'{"type": "from_the_future", "at": "2026-12-01T00:00:00Z"}\n')
    assert run(["inspect", imported]) == 0
    out = capsys.readouterr().out
    assert f"session {imported}, agent-ls" in out
    assert "message 0: request: user-prompt Why does the login test fail?" in out
    assert "message 1: response: tool-call read {" in out
    assert "bad line, skipped on resume" in out
    assert "unknown line of type 'from_the_future'" in out
    assert "live: 4 messages would be seen by the model, of 4 logged" in out
    assert "\x1b" not in out


def test_inspect_takes_a_log_by_its_path_and_writes_a_page(
    imported: str, workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = find_session(workspace / ".agent_ls" / "sessions", SessionId(imported))
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.html"
    assert run(["inspect", str(log), "--html", str(page)]) == 0
    assert "Why does the login test fail?" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    capsys.readouterr()
    assert run(["inspect", str(log), "--html", str(tmp_path / "nowhere" / "page.html")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert run(["inspect", str(log), "--window", "0"]) == 2


def test_another_folder_is_named_by_an_option(imported: str, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert run(["inspect", "--workspace", str(workspace)]) == 0


def test_a_session_that_is_not_there(imported: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "nonsense"]) == 1
    assert "There is no session nonsense here." in capsys.readouterr().err


def test_a_linked_session_directory_is_not_followed(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "sessions").mkdir(parents=True)
    (workspace / ".agent_ls").symlink_to(elsewhere)
    assert run(["inspect"]) == 1
    assert "There is no session in" in capsys.readouterr().err
