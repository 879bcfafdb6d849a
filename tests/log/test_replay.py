from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from agent_ls.log.codec import encode
from agent_ls.log.entries import (
    CompactionEntry,
    CompactionRecord,
    Header,
    MemoryEntry,
    MessagesEntry,
    Totals,
    TurnEntry,
    UndoEntry,
)
from agent_ls.log.replay import Replayed, originals, replay, replay_forwards
from agent_ls.protocol import CompactionId, SessionId, TurnId, TurnUsage
from agent_ls.tokens import Tokens

from .strategies import answer, calls, dump, messages, prompt, results

AT = datetime(2026, 12, 1, 10, 30, tzinfo=UTC)
HEADER = encode(Header(1, SessionId("0123"), "/w", AT, "0.1.0"))


def say(ordinal: int, *said: ModelMessage) -> bytes:
    return encode(MessagesEntry(AT, ordinal, said))


def checkpoint(
    name: str, next_ordinal: int, tail: dict[int | None, ModelMessage], totals: Totals | None = None
) -> bytes:
    record = CompactionRecord(
        at=AT,
        compaction_id=CompactionId(name),
        trigger="turnEnd",
        before=Tokens.measured(9),
        after=Tokens.estimated(3),
        covers=2,
        tail_ordinals=tuple(tail),
        next_ordinal=next_ordinal,
        totals=Totals(),
    )
    return encode(CompactionEntry(record, prompt(f"summary {name}"), tuple(tail.values())))


def undo(name: str) -> bytes:
    return encode(UndoEntry(AT, CompactionId(name)))


@st.composite
def log_lines(draw: st.DrawFn) -> list[bytes]:
    """Lines of a log in any order, among them some that no session would write."""
    lines = [HEADER]
    names = st.sampled_from(["c1", "c2", "c3"])
    for _ in range(draw(st.integers(0, 10))):
        kind = draw(st.sampled_from(["say", "say", "say", "compact", "compact", "undo", "turn", "memory", "odd"]))
        ordinal = draw(st.integers(0, 9))
        if kind == "say":
            lines.append(say(ordinal, *draw(st.lists(messages, min_size=1, max_size=2))))
        elif kind == "compact":
            tail = draw(st.lists(messages, max_size=2))
            lines.append(checkpoint(draw(names), ordinal, dict(enumerate(tail))))
        elif kind == "undo":
            lines.append(undo(draw(names)))
        elif kind == "turn":
            totals = Totals(turns=ordinal)
            usage = TurnUsage(1, 1, 0, 1)
            lines.append(encode(TurnEntry(AT, TurnId("t"), "end_turn", usage, None, ordinal, totals)))
        elif kind == "memory":
            lines.append(encode(MemoryEntry(AT, ordinal, None)))
        else:
            lines.append(draw(st.sampled_from([b'{"type":"weather"}\n', b"\n", b"\0\0\n", b"half a li\n", HEADER])))
    return lines


def told(replayed: Replayed) -> tuple[Any, ...]:
    """All that a replay says, in a form that can be compared."""
    return (
        dump(each.message for each in replayed.live),
        [(each.ordinal, each.place) for each in replayed.live],
        replayed.header,
        replayed.first_after_checkpoint,
        replayed.checkpoint,
        replayed.next_ordinal,
        replayed.totals,
        replayed.length,
    )


def replay_both(content: bytes, *then: UndoEntry) -> Replayed:
    """What `replay` makes of a log, checked against reading it from the first line."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(content)
        backward, forward = replay(path, then=then), replay_forwards(path, then=then)
        assert told(backward) == told(forward)
        return backward


@settings(max_examples=150)
@given(log_lines(), st.data())
def test_reading_from_the_end_tells_the_same_as_from_the_start(lines: list[bytes], data: st.DataObject) -> None:
    content = b"".join(lines)
    end = data.draw(st.integers(0, len(content)))
    undone = data.draw(
        st.lists(st.sampled_from(["c1", "c2"]).map(lambda name: UndoEntry(AT, CompactionId(name))), max_size=2)
    )
    replay_both(content[:end], *undone)
    replay_both(content, *undone)


@settings(max_examples=150)
@given(log_lines(), st.data())
def test_corrupt_bytes_tell_the_same_from_both_ends(lines: list[bytes], data: st.DataObject) -> None:
    content = bytearray(b"".join(lines))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=4) | st.just(b"\n"))
    replay_both(bytes(content))


def shown(content: bytes) -> list[str]:
    return [str(each.message.parts[0].content) for each in replay_both(content).live]  # type: ignore[union-attr]


TWICE = [
    HEADER,
    say(0, prompt("1"), answer("2")),
    say(2, prompt("3"), answer("4")),
    checkpoint("c1", 4, {2: prompt("3"), 3: answer("4")}),
    say(4, prompt("5"), answer("6")),
    checkpoint("c2", 6, {4: prompt("5"), 5: answer("6")}),
    say(6, prompt("7")),
]


def test_fault_30_a_resume_holds_the_summary_and_the_tail_and_nothing_they_replaced() -> None:
    assert shown(b"".join(TWICE)) == ["summary c2", "5", "6", "7"]
    assert replay_both(b"".join(TWICE)).first_after_checkpoint == 3


def test_fault_36_each_undo_takes_one_checkpoint_back_and_keeps_what_came_after() -> None:
    assert shown(b"".join([*TWICE, undo("c2")])) == ["summary c1", "3", "4", "5", "6", "7"]
    assert shown(b"".join([*TWICE, undo("c2"), undo("c1")])) == ["1", "2", "3", "4", "5", "6", "7"]
    assert shown(b"".join([*TWICE, undo("c1")])) == ["1", "2", "3", "4", "5", "6", "7"]


def test_after_an_undo_the_usage_of_the_shortened_history_does_not_count() -> None:
    lines = [HEADER, say(0, prompt("1"), answer("2", 900)), checkpoint("c1", 2, {}), say(2, prompt("3"))]
    assert replay_both(b"".join([*lines, undo("c1")])).first_after_checkpoint == 0
    answered = [*lines, say(3, answer("4", 100)), undo("c1")]
    assert replay_both(b"".join(answered)).first_after_checkpoint == 4


@pytest.mark.parametrize("damage", [b'"part_kind":"text"', b'"trigger"', b'"tail"', b'"summary"'])
def test_a_malformed_checkpoint_leaves_the_history_uncompacted(damage: bytes) -> None:
    lines = [*TWICE]
    lines[5] = lines[5].replace(damage, b'"x' + damage[2:])
    assert shown(b"".join(lines)) == ["summary c1", "3", "4", "5", "6", "7"]
    lines[3] = lines[3][:40] + b"\n"
    assert shown(b"".join(lines)) == ["1", "2", "3", "4", "5", "6", "7"]


def test_undoing_a_checkpoint_whose_line_is_bad_changes_nothing() -> None:
    lines = [*TWICE]
    lines[5] = b"damaged\n"
    assert shown(b"".join([*lines, undo("c2")])) == ["summary c1", "3", "4", "5", "6", "7"]


@pytest.mark.parametrize(
    ("bad", "survives"),
    [(b"\0" * 300 + b"\n", False), (TWICE[1][:99] + b"\n", False), (b"\0" * 300, True), (TWICE[1][:99], True)],
    ids=["a line of NULs", "half a line", "NULs before a line", "half a line before a line"],
)
def test_fault_31_later_lines_are_used_with_one_warning_each(
    bad: bytes, survives: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(HEADER + say(0, prompt("one")) + bad + say(1, answer("two")) + bad + say(2, prompt("three")))
    with caplog.at_level(logging.WARNING):
        replayed = replay(path)
    assert [each.message.parts[0].content for each in replayed.live] == ["one", "two", "three"]  # type: ignore[union-attr]
    assert len(replayed.warnings) == 2
    assert len(caplog.records) == 2
    assert all(("only its end" in warning) == survives for warning in replayed.warnings)


def test_every_prefix_of_a_log_tells_the_history_of_its_complete_lines() -> None:
    lines = [*TWICE, undo("c2"), say(7, calls("a", "b")), say(8, results("a"))]
    content = b"".join(lines)
    whole: dict[int, tuple[Any, ...]] = {}
    end = 0
    for index, line in enumerate(lines):
        end += len(line)
        whole[end] = told(replay_both(b"".join(lines[: index + 1])))
    last = told(replay_both(b""))
    for cut in range(len(content) + 1):
        last = whole.get(cut, last)
        assert told(replay_both(content[:cut])) == last


def test_a_log_without_its_header_is_replayed_all_the_same() -> None:
    replayed = replay_both(b"".join(TWICE[1:]))
    assert replayed.header is None
    assert len(replayed.live) == 4


def test_a_newer_format_is_said_and_read_as_far_as_it_is_known() -> None:
    newer = encode(Header(2, SessionId("0123"), "/w", AT, "9.0"))
    replayed = replay_both(newer + say(0, prompt("one")) + b'{"type":"weather"}\n')
    assert len(replayed.live) == 1
    assert len(replayed.warnings) == 1
    assert "newer" in replayed.warnings[0]


def test_originals_are_everything_ever_said(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join([*TWICE, undo("c2")]))
    assert [(each.ordinal, each.message.parts[0].content) for each in originals(path)] == [  # type: ignore[union-attr]
        (number, str(number + 1)) for number in range(7)
    ]


@pytest.mark.parametrize("then", [[], [undo("c3")], [checkpoint("c4", 8, {}), undo("c4"), undo("c3")]])
def test_a_resume_reads_no_more_than_what_is_live(tmp_path: Path, then: list[bytes]) -> None:
    path = tmp_path / "log.jsonl"
    undone = [checkpoint("c3", 7, {})] if then else []
    path.write_bytes(HEADER + b"unreadable\n" * 3_000 + b"".join([*TWICE[5:], *undone, *then]))
    # Every line that is read and is no entry gives a warning: those before the checkpoint in force are not read.
    assert replay(path).warnings == ()
    assert len(replay_forwards(path).warnings) == 3_000
