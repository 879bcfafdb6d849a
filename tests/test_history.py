from __future__ import annotations

import asyncio
import gc
import logging
import shutil
import stat
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart

from agent_ls.errors import LogUnwritable, SessionLocked, SessionNotFound
from agent_ls.history import Checkpoint, History
from agent_ls.log.dangling import close_dangling_calls
from agent_ls.log.replay import replay
from agent_ls.protocol import CompactionId, TurnId, TurnUsage
from agent_ls.tokens import Tokens

from .disk.faulty_files import FaultyFiles
from .log.strategies import answer, calls, dump, prompt, results
from .persisted import persisted

USAGE = TurnUsage(input_tokens=10, output_tokens=2, cache_read_tokens=5, requests=1)


def checkpoint(name: str, tail_start: int, cost: float | None = None) -> Checkpoint:
    return Checkpoint(
        compaction_id=CompactionId(name),
        summary=prompt(f"summary {name}"),
        tail_start=tail_start,
        trigger="manual",
        before=Tokens.measured(900),
        after=Tokens.estimated(90),
        cost=cost,
    )


def texts(messages: Sequence[ModelMessage]) -> list[str]:
    return [str(getattr(message.parts[0], "content", "(call)")) for message in messages]


def blanked(messages: Sequence[ModelMessage], *indexes: int) -> list[ModelMessage]:
    return [
        replace(message, parts=[replace(part, content="[elided]") for part in message.parts])  # type: ignore[arg-type]
        if index in indexes
        else message
        for index, message in enumerate(messages)
    ]


def resumed(history: History) -> History:
    history.close()
    return History.resume(history.path)


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()


@pytest.fixture
def history(tmp_path: Path, files: FaultyFiles) -> Iterator[History]:
    history = History.create(tmp_path, files=files)
    yield history
    files.steps = range(0)
    history.close()


def fail(files: FaultyFiles) -> None:
    files.steps = range(files.count, files.count + 1_000)


def work(files: FaultyFiles) -> None:
    files.steps = range(0)


# --- creating and resuming -------------------------------------------------------------------------------------------


def test_a_session_without_a_word_leaves_no_log(history: History) -> None:
    assert not history.path.exists()
    history.close()
    assert not history.path.exists()
    with pytest.raises(SessionNotFound):
        History.resume(history.path)


def test_what_was_said_is_there_again(history: History) -> None:
    history.append(prompt("one"))
    asyncio.run(history.append_durably(answer("two"), prompt("three")))
    again = resumed(history)
    assert texts(again.messages) == ["one", "two", "three"]
    assert persisted(again) == 3
    assert again.session_id == history.session_id
    assert again.header == history.header
    again.close()


def test_instructions_are_not_kept(history: History) -> None:
    history.append(ModelRequest(parts=prompt("one").parts, instructions="system " * 1000))
    assert history.messages[0].instructions is None  # type: ignore[union-attr]
    assert b"system" not in history.path.read_bytes()


def test_messages_is_a_snapshot(history: History) -> None:
    history.append(prompt("one"))
    before = history.messages
    history.append(answer("two"))
    assert texts(before) == ["one"]


def test_a_session_that_is_open_is_not_opened_again(history: History) -> None:
    history.append(prompt("one"))
    with pytest.raises(SessionLocked):
        History.resume(history.path)


def test_a_torn_header_is_written_anew(history: History) -> None:
    history.append(prompt("one"))
    history.close()
    for cut in range(history.path.read_bytes().index(b"\n") + 1):
        history.path.write_bytes(b'{"type":"header","version":1,"session_id":"x"}'[:cut])
        again = History.resume(history.path)
        assert again.session_id == history.session_id
        assert again.header.workspace == history.header.workspace
        again.append(prompt("two"))
        again.close()
        assert replay(history.path).header == again.header


def test_a_copied_log_is_a_session_of_its_own(history: History) -> None:
    history.append(prompt("one"))
    copy = history.path.with_name("20261201T101500Z_copy.jsonl")
    copy.write_bytes(history.path.read_bytes())
    again = History.resume(copy)
    assert again.session_id == "copy"
    assert again.header.workspace == history.header.workspace
    again.close()


def test_a_deleted_session_directory_comes_back_private_and_ignored(history: History, tmp_path: Path) -> None:
    history.append(prompt("one"))
    shutil.rmtree(tmp_path / ".agent_ls")
    history.append(answer("two"))
    assert history.unsaved_reason is None
    assert (tmp_path / ".agent_ls" / ".gitignore").read_text() == "*\n"
    assert stat.S_IMODE((tmp_path / ".agent_ls").stat().st_mode) == 0o700
    assert texts(resumed(history).messages) == ["one", "two"]


def test_a_log_that_can_only_be_read_is_resumed_unsaved(history: History, files: FaultyFiles) -> None:
    history.append(prompt("one"))
    history.close()
    fail(files)
    again = History.resume(history.path, files=files)
    assert texts(again.messages) == ["one"]
    assert "No space left" in str(again.unsaved_reason)
    again.append(answer("two"))
    assert persisted(again) == 1
    work(files)
    again.append(prompt("three"))
    assert again.unsaved_reason is None
    assert texts(resumed(again).messages) == ["one", "two", "three"]


def test_a_log_another_server_went_on_with_is_not_written_from_an_older_state(
    history: History, files: FaultyFiles
) -> None:
    history.append(prompt("one"))
    history.close()
    fail(files)
    left_behind = History.resume(history.path, files=files)
    other = History.resume(history.path)
    other.append(answer("two"))
    other.close()
    work(files)
    left_behind.append(answer("three"))
    assert "Another agent-ls" in str(left_behind.unsaved_reason)
    assert texts([each.message for each in replay(history.path).live]) == ["one", "two"]


# --- failing writes --------------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_message_live_and_the_next_one_writes_both(
    history: History, files: FaultyFiles, caplog: pytest.LogCaptureFixture
) -> None:
    history.append(prompt("one"))
    fail(files)
    with caplog.at_level(logging.WARNING):
        history.append(answer("two"))
        history.append(prompt("three"))
    assert (texts(history.messages), persisted(history)) == (["one", "two", "three"], 1)
    assert "No space left on device" in str(history.unsaved_reason)
    assert len(caplog.records) == 1
    work(files)
    history.append(answer("four"))
    assert (persisted(history), history.unsaved_reason) == (4, None)
    assert texts(resumed(history).messages) == ["one", "two", "three", "four"]


def test_a_session_that_never_had_a_disk_is_saved_once_there_is_one(history: History, files: FaultyFiles) -> None:
    fail(files)
    history.append(prompt("one"))
    asyncio.run(history.record_turn(TurnId("t"), "end_turn", USAGE))
    assert persisted(history) == 0
    assert [each.message for each in history.originals()] == list(history.messages)
    work(files)
    history.append()
    assert persisted(history) == 1
    assert resumed(history).totals.turns == 1


@pytest.mark.parametrize("step", range(3))
def test_fault_34_a_checkpoint_that_cannot_be_written_changes_nothing(
    history: History, files: FaultyFiles, step: int
) -> None:
    history.append(prompt("one"), answer("two"), prompt("three"))
    before = (history.messages, persisted(history), history.path.read_bytes(), history.totals)
    files.steps = {files.count + step}
    if step < 2:
        with pytest.raises(LogUnwritable, match="No space left"):
            history.compact(checkpoint("c1", 2))
        assert history.messages is before[0]
        assert (history.messages, persisted(history), history.path.read_bytes(), history.totals) == before
        assert history.last_compaction is None
    work(files)
    history.append(answer("four"))
    history.compact(checkpoint("c2", 2))
    assert texts(resumed(history).messages) == ["summary c2", "three", "four"]


def test_no_checkpoint_over_messages_that_are_not_written(history: History, files: FaultyFiles) -> None:
    history.append(prompt("one"))
    fail(files)
    history.append(answer("two"))
    with pytest.raises(LogUnwritable):
        history.compact(checkpoint("c1", 1))
    assert texts(history.messages) == ["one", "two"]
    work(files)
    history.compact(checkpoint("c1", 1))
    assert texts(resumed(history).messages) == ["summary c1", "two"]


# --- compaction ------------------------------------------------------------------------------------------------------


def test_a_compaction_keeps_the_tail_messages_themselves(history: History) -> None:
    history.append(prompt("one"), answer("two"), prompt("three"), answer("four"))
    tail = history.messages[2:]
    record = history.compact(checkpoint("c1", 2, cost=0.5))
    assert texts(history.messages)[0] == "summary c1"
    assert all(one is other for one, other in zip(history.messages[1:], tail, strict=True))
    assert (record.covers, record.tail_ordinals, record.next_ordinal) == (2, (2, 3), 4)
    assert history.first_after_checkpoint == 3
    assert history.totals.cost == 0.5
    assert history.last_compaction == record


@pytest.mark.parametrize("tail_start", [0, -1, 3])
def test_a_tail_must_begin_inside_the_history(history: History, tail_start: int) -> None:
    history.append(prompt("one"), answer("two"))
    with pytest.raises(ValueError, match="tail"):
        history.compact(checkpoint("c1", tail_start))


def test_fault_30_a_resumed_history_equals_the_live_one_at_every_step(history: History) -> None:
    steps: list[Callable[[], object]] = [
        lambda: history.append(prompt("one")),
        lambda: asyncio.run(history.append_durably(calls("a", "b"))),
        lambda: history.append(results("a", "b")),
        lambda: history.append(answer("two")),
        lambda: asyncio.run(history.record_turn(TurnId("t1"), "end_turn", USAGE, 0.25)),
        lambda: history.compact(checkpoint("c1", 3)),
        lambda: history.append(prompt("three"), answer("four")),
        lambda: history.compact(checkpoint("c2", 2)),
        lambda: history.record_memory("Something."),
        lambda: history.append(prompt("five"), answer("six")),
        history.undo_compaction,
        lambda: history.append(prompt("seven")),
        history.undo_compaction,
        lambda: history.compact(checkpoint("c3", 9)),
    ]
    for step in steps:
        step()
        told = replay(history.path)
        assert dump(each.message for each in told.live) == dump(close_dangling_calls(history.messages))
        assert told.first_after_checkpoint == history.first_after_checkpoint
        assert (told.totals, told.checkpoint) == (history.totals, history.last_compaction)


def test_fault_35_the_tail_of_the_first_compaction_is_in_the_second(history: History) -> None:
    history.append(prompt("one"), answer("two"), prompt("MARKER"), answer("four"))
    history.compact(checkpoint("c1", 2))
    history.append(prompt("five"), answer("six"))
    assert "MARKER" in texts(history.messages)
    again = resumed(history)
    assert "MARKER" in texts(again.messages)
    again.compact(checkpoint("c2", 2))
    assert again.last_compaction is not None
    assert again.last_compaction.covers == 2
    assert texts(again.messages) == ["summary c2", "four", "five", "six"]
    assert "MARKER" in texts([each.message for each in again.originals()])
    again.close()


def test_fault_36_undo_after_two_compactions_and_a_resume_brings_the_originals_back(history: History) -> None:
    history.append(prompt("one"), answer("two"), prompt("three"), answer("four"))
    history.compact(checkpoint("c1", 2))
    history.append(prompt("five"), answer("six"))
    history.compact(checkpoint("c2", 3))
    history.append(prompt("seven"))
    again = resumed(history)
    undo = again.prepare_undo()
    assert undo is not None
    first = again.undo_compaction(undo)
    assert first is not None
    assert first.compaction_id == "c2"
    assert texts(again.messages) == texts(undo.messages) == ["summary c1", "three", "four", "five", "six", "seven"]
    once_more = resumed(again)
    once_more.undo_compaction()
    assert texts(once_more.messages) == ["one", "two", "three", "four", "five", "six", "seven"]
    assert once_more.first_after_checkpoint == 7
    assert once_more.undo_compaction() is None
    assert once_more.prepare_undo() is None
    assert once_more.last_compaction is None
    once_more.close()


def test_an_undo_that_cannot_be_written_changes_nothing(history: History, files: FaultyFiles) -> None:
    history.append(prompt("one"), answer("two"))
    history.compact(checkpoint("c1", 2))
    before = history.messages
    files.steps = {files.count + 1}
    with pytest.raises(LogUnwritable):
        history.undo_compaction()
    assert history.messages is before
    assert history.undo_compaction() is not None
    assert texts(history.messages) == ["one", "two"]


# --- eliding ---------------------------------------------------------------------------------------------------------


def test_a_blanked_message_is_read_again_from_the_log(history: History) -> None:
    big = results("a", content="x" * 1000)
    history.append(prompt("one"), calls("a"), big)
    assert history.elide(blanked(history.messages, 2)) == 1
    assert texts(history.messages)[2] == "[elided]"
    assert dump([history.original(2)]) == dump([big])
    assert persisted(history) == 3
    assert b"[elided]" not in history.path.read_bytes()
    assert texts(resumed(history).messages)[2] == "x" * 1000


def test_a_blanked_message_leaves_memory(history: History) -> None:
    history.append(prompt("one"), calls("a"), results("a", content="x" * 1_000))
    body = weakref.ref(history.messages[2])
    history.elide(blanked(history.messages, 2))
    gc.collect()
    assert body() is None


def test_a_message_that_is_not_written_is_never_blanked(history: History, files: FaultyFiles) -> None:
    history.append(calls("a"), results("a"))
    fail(files)
    history.append(calls("b"), results("b"))
    assert history.elide(blanked(history.messages, 1, 3)) == 1
    assert texts([history.messages[1], history.messages[3]]) == ["[elided]", "bytes"]
    work(files)
    history.append()
    assert history.elide(blanked(history.messages, 3)) == 1
    assert texts([history.original(1), history.original(3)]) == ["bytes", "bytes"]


def test_eliding_never_changes_the_length(history: History) -> None:
    history.append(prompt("one"), answer("two"))
    with pytest.raises(ValueError, match="argument"):
        history.elide(history.messages[1:])
    assert texts(history.messages) == ["one", "two"]


def test_a_blanked_message_in_the_tail_of_a_checkpoint_is_kept_in_full(history: History) -> None:
    history.append(prompt("one"), calls("a"), results("a"), prompt("two"))
    history.elide(blanked(history.messages, 2))
    history.compact(checkpoint("c1", 1))
    assert texts(history.messages)[2] == "[elided]"
    assert texts([history.original(2)]) == ["bytes"]
    assert texts(resumed(history).messages)[2] == "bytes"


def test_a_blanked_message_comes_back_with_an_undo(history: History) -> None:
    history.append(prompt("one"), calls("a"), results("a"), answer("two"))
    history.elide(blanked(history.messages, 2))
    history.compact(checkpoint("c1", 4))
    history.undo_compaction()
    assert texts([history.messages[2]]) == ["bytes"]


def test_a_summary_can_be_blanked_and_read_again(history: History) -> None:
    history.append(prompt("one"), answer("two"))
    history.compact(checkpoint("c1", 2))
    history.elide(blanked(history.messages, 0))
    assert texts([history.original(0)]) == ["summary c1"]


def test_originals_survive_blanking_compaction_and_a_deleted_log(history: History) -> None:
    history.append(prompt("one"), calls("a"), results("a"), answer("two"))
    history.elide(blanked(history.messages, 2))
    history.compact(checkpoint("c1", 4))
    history.path.unlink()
    assert [each.ordinal for each in history.originals()] == [0, 1, 2, 3]
    assert history.undo_compaction() is not None


# --- dangling calls --------------------------------------------------------------------------------------------------


def test_fault_15_a_cancel_is_closed_alike_live_and_on_resume(history: History) -> None:
    asyncio.run(history.append_durably(prompt("go"), calls("a", "b")))
    history.append(results("a"))
    history.close_dangling_calls()
    interrupted = history.messages[3].parts[0]
    assert isinstance(interrupted, ToolReturnPart)
    assert (interrupted.tool_call_id, interrupted.outcome) == ("b", "interrupted")
    assert persisted(history) == 4
    history.append(prompt("next"), answer("done"))
    again = resumed(history)
    assert dump(again.messages) == dump(history.messages)
    assert again.ordinal(3) is None
    assert again.ordinal(4) == 3
    again.compact(checkpoint("c1", 1))
    assert dump(resumed(again).messages[1:]) == dump(history.messages[1:])


def test_a_made_up_result_is_never_blanked_away(history: History) -> None:
    history.append(prompt("go"), calls("a"))
    history.close_dangling_calls()
    assert history.elide(blanked(history.messages, 2)) == 0


def test_unsaved_messages_and_made_up_results_keep_their_count(history: History, files: FaultyFiles) -> None:
    history.append(prompt("go"))
    fail(files)
    history.append(calls("a"))
    history.close_dangling_calls()
    history.append(prompt("next"))
    assert (len(history.messages), persisted(history)) == (4, 1)
    work(files)
    history.append()
    assert persisted(history) == 4
    assert dump(resumed(history).messages) == dump(history.messages)


# --- sums ------------------------------------------------------------------------------------------------------------


def test_sums_survive_a_compaction_and_a_resume(history: History) -> None:
    history.append(prompt("one"), answer("two"))
    asyncio.run(history.record_turn(TurnId("t1"), "end_turn", USAGE, 0.25))
    history.compact(checkpoint("c1", 2, cost=0.5))
    history.append(prompt("three"), answer("four"))
    asyncio.run(history.record_turn(TurnId("t2"), "cancelled", USAGE, None, error="stopped"))
    totals = resumed(history).totals
    assert (totals.turns, totals.requests, totals.input_tokens, totals.cache_read_tokens) == (2, 2, 20, 10)
    assert totals.cost == 0.75


def test_a_write_back_is_due_when_the_model_answered_since_the_last(history: History) -> None:
    history.append(prompt("one"))
    assert not history.write_back_pending
    history.append(answer("two"))
    assert history.write_back_pending
    history.compact(checkpoint("c1", 2))
    again = resumed(history)
    assert again.write_back_pending
    again.record_memory("Something.")
    assert not again.write_back_pending
    once_more = resumed(again)
    assert not once_more.write_back_pending
    once_more.append(prompt("three"), ModelResponse(parts=answer("four").parts))
    assert once_more.write_back_pending
    once_more.close()


def test_a_closed_history_is_read_but_not_written(history: History) -> None:
    history.append(prompt("one"), calls("a"), results("a"))
    history.elide(blanked(history.messages, 2))
    history.close()
    assert texts([history.original(2)]) == ["bytes"]
    history.append(answer("late"))
    assert "closed" in str(history.unsaved_reason)
    assert len(replay(history.path).live) == 3
