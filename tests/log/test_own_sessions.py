"""The ids of the sessions a person began."""

from __future__ import annotations

import logging
import stat
from multiprocessing import get_context
from pathlib import Path

import pytest

from agent_ls.log.names import new_session_id
from agent_ls.log.own_sessions import OwnSessions
from agent_ls.protocol import SessionId


def added(file: Path, count: int) -> None:
    for number in range(count):
        OwnSessions(file).add(SessionId(f"{number:x}-{new_session_id()}"))


def test_what_was_noted_is_known_and_private(tmp_path: Path) -> None:
    own = OwnSessions(tmp_path / "not" / "yet" / "own-sessions")
    assert own.ids() == frozenset()
    own.add(SessionId("one"))
    own.add(SessionId("two"))
    assert own.ids() == {"one", "two"}
    assert stat.S_IMODE(own.file.stat().st_mode) == 0o600


def test_several_processes_note_at_once(tmp_path: Path) -> None:
    file = tmp_path / "own-sessions"
    workers = [get_context("spawn").Process(target=added, args=(file, 200)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(OwnSessions(file).ids()) == 600


def test_a_line_that_was_cut_costs_only_itself(tmp_path: Path) -> None:
    own = OwnSessions(tmp_path / "own-sessions")
    own.add(SessionId("one"))
    own.file.write_bytes(own.file.read_bytes() + b"\nhal\xff")
    own.add(SessionId("two"))
    assert {"one", "two"} <= own.ids()


@pytest.mark.parametrize("kind", ["directory", "symlink"])
def test_a_file_that_cannot_be_used_notes_none_and_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    own = OwnSessions(tmp_path / "own-sessions")
    if kind == "directory":
        own.file.mkdir()
    else:
        own.file.symlink_to(tmp_path / "elsewhere")
    with caplog.at_level(logging.WARNING):
        own.add(SessionId("one"))
    assert "one cannot be noted" in caplog.text
    assert own.ids() == frozenset()
    assert not (tmp_path / "elsewhere").exists()
