from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ImageUrl, ModelRequest, TextContent, UserPromptPart

from agent_ls.errors import SessionLocked, SessionNotFound
from agent_ls.history import Checkpoint, History
from agent_ls.log.catalog import delete_session, find_session, latest_session, list_sessions, write_back_pending
from agent_ls.log.directory import session_directory
from agent_ls.log.names import LogName, log_name, new_session_id, parse_name, session_id_of
from agent_ls.protocol import CompactionId, SessionId, TurnId, TurnUsage
from agent_ls.tokens import Tokens

from .strategies import answer, prompt

USAGE = TurnUsage(1, 1, 0, 1)


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    return session_directory(tmp_path).sessions


def session(sessions: Path, text: str, *, close: bool = True) -> History:
    history = History.create(sessions.parents[1], directory=sessions)
    history.append(prompt(text))
    if close:
        history.close()
    return history


def test_a_row_tells_a_session_without_loading_it(sessions: Path) -> None:
    history = session(sessions, "  \nFix the parser\nplease", close=False)
    history.append(answer("x" * 100_000))
    asyncio.run(history.record_turn(TurnId("t"), "end_turn", USAGE))
    history.close()
    (row,) = list_sessions(sessions)
    assert (row.session_id, row.path, row.title, row.messages) == (
        history.session_id,
        history.path,
        "Fix the parser",
        2,
    )
    assert row.created == history.header.created.replace(microsecond=0)
    assert row.updated >= row.created


def test_messages_are_counted_whatever_the_last_line_is(sessions: Path) -> None:
    history = session(sessions, "one", close=False)

    def count() -> int:
        return list_sessions(sessions)[0].messages

    assert count() == 1
    history.append(answer("y" * 50_000), prompt("three"))
    assert count() == 3
    summary = prompt("s" * 50_000)
    history.compact(Checkpoint(CompactionId("c"), summary, 3, "manual", Tokens.measured(2), Tokens.estimated(1)))
    assert count() == 3
    history.undo_compaction()
    assert count() == 3
    history.append(answer("four"))
    history.record_memory(None)
    assert count() == 4
    history.close()
    history.path.write_bytes(history.path.read_bytes() + b"torn")
    assert count() == 4


def test_the_one_written_last_comes_first(sessions: Path) -> None:
    first, second = session(sessions, "first"), session(sessions, "second")
    again = History.resume(first.path)
    again.append(answer("more"))
    again.close()
    assert [row.title for row in list_sessions(sessions)] in (["first", "second"], ["second", "first"])
    rows = list_sessions(sessions)
    assert rows == sorted(rows, key=lambda row: row.updated, reverse=True)
    assert latest_session(sessions) == rows[0].path
    assert find_session(sessions, second.session_id) == second.path


@pytest.mark.parametrize("text", ["", "   ", "\u2028", "x" * 500, "\x1b[31mred", "\ud800", '","messages":["'])
def test_any_first_prompt_makes_a_title(sessions: Path, text: str) -> None:
    session(sessions, text)
    assert len(list_sessions(sessions)[0].title) <= 120


def test_a_prompt_of_parts_is_titled_by_its_text(sessions: Path) -> None:
    history = History.create(sessions.parents[1], directory=sessions)
    picture = ImageUrl("https://example.org/a.png")
    history.append(ModelRequest([UserPromptPart([picture, TextContent("What is this?"), "And why?"])]))
    history.close()
    assert list_sessions(sessions)[0].title == "What is this?"


def test_nothing_is_listed_that_is_no_log(sessions: Path, tmp_path: Path) -> None:
    real = session(sessions, "real")
    (sessions / "notes.jsonl").write_text("{}\n")
    (sessions / "20261201T101500Z_abc.jsonl").mkdir()
    (sessions / "20261201T101500Z_link.jsonl").symlink_to(real.path)
    os.mkfifo(sessions / "20261201T101500Z_fifo.jsonl")
    assert [row.title for row in list_sessions(sessions)] == ["real"]
    assert list_sessions(tmp_path / "nowhere") == []


@given(st.binary(max_size=300))
def test_any_bytes_in_a_log_leave_the_list_standing(content: bytes) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "20261201T101500Z_abc.jsonl"
        path.write_bytes(content)
        (row,) = list_sessions(Path(folder))
        assert row.session_id == "abc"
        assert row.created.tzinfo is not None
        write_back_pending(path)


def test_a_session_is_found_by_its_whole_id_only(sessions: Path) -> None:
    history = session(sessions, "one")
    for wrong in (history.session_id[:-1], "*", "../x", ""):
        with pytest.raises(SessionNotFound):
            find_session(sessions, SessionId(wrong))
    with pytest.raises(SessionNotFound):
        latest_session(sessions.parent)


def test_deleting_takes_the_log_and_all_that_belongs_to_it(sessions: Path) -> None:
    kept, gone = session(sessions, "kept"), session(sessions, "gone")
    gone.path.write_bytes(gone.path.read_bytes() + b"torn")
    History.resume(gone.path).close()
    delete_session(sessions, gone.session_id)
    assert not [each for each in sessions.iterdir() if gone.session_id in each.name]
    assert [row.session_id for row in list_sessions(sessions)] == [kept.session_id]
    with pytest.raises(SessionNotFound):
        delete_session(sessions, gone.session_id)


def test_an_open_session_is_not_deleted(sessions: Path) -> None:
    history = session(sessions, "one", close=False)
    with pytest.raises(SessionLocked):
        delete_session(sessions, history.session_id)
    assert history.path.exists()
    history.close()


def test_a_write_back_is_found_pending_without_loading_the_session(sessions: Path) -> None:
    history = session(sessions, "one", close=False)
    steps: list[tuple[Callable[[], object], bool]] = [
        (lambda: None, False),
        (lambda: history.append(answer("two")), True),
        (lambda: asyncio.run(history.record_turn(TurnId("t"), "end_turn", USAGE)), True),
        (
            lambda: history.compact(
                Checkpoint(CompactionId("c"), prompt("s"), 2, "manual", Tokens.measured(2), Tokens.estimated(1))
            ),
            True,
        ),
        (lambda: history.append(prompt("three")), True),
        (lambda: history.record_memory(None), False),
        (lambda: history.append(prompt("four")), False),
        (lambda: asyncio.run(history.record_turn(TurnId("t"), "cancelled", USAGE)), False),
        (lambda: history.append(answer("five")), True),
    ]
    for step, pending in steps:
        step()
        assert write_back_pending(history.path) is pending is history.write_back_pending
    history.close()


def test_names_tell_the_session_and_its_time() -> None:
    created = datetime(2026, 12, 1, 10, 15, 30, tzinfo=UTC)
    session_id = new_session_id()
    path = Path(log_name(created, session_id))
    assert session_id_of(path) == session_id
    assert parse_name(path.name) == LogName(session_id, created)
    for other in ("notes.jsonl", "20261399T101500Z_abc.jsonl", "20261201T101500Z_a b.jsonl"):
        assert parse_name(other) is None


@pytest.mark.parametrize("bad", ["", "../etc", "a/b", "a b", "x" * 65, "é"])
def test_an_id_that_cannot_stand_in_a_name_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="session id"):
        log_name(datetime(2026, 12, 1, tzinfo=UTC), SessionId(bad))
