"""What is told of a session, measured by what `log/replay.py` makes of the same log."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelRequest, ToolReturnPart

from agent_ls.inspection.ends import EndsCollector
from agent_ls.inspection.reading import inspect_log
from agent_ls.inspection.session import Inspection, MessageSeen, OrdinalRange, Turn
from agent_ls.inspection.text import as_text
from agent_ls.log.codec import encode
from agent_ls.log.entries import Header, MessagesEntry
from agent_ls.log.replay import replay_forwards
from agent_ls.protocol import SessionId

from ..log.strategies import answer, calls, prompt, results
from ..log.test_replay import checkpoint, log_lines, say, undo
from .logs import AT, LEVELS, compacted


def inspected(content: bytes) -> Inspection:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(content)
        return inspect_log(path)


@settings(max_examples=150)
@given(log_lines())
def test_any_lines_are_told_and_agree_with_a_resume(lines: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(b"".join(lines))
        told, replayed = inspect_log(path), replay_forwards(path)
    assert told.messages == replayed.next_ordinal
    assert told.header == replayed.header
    assert told.totals.remembered == replayed.totals.remembered
    assert list(as_text(told, LEVELS))


@settings(max_examples=100)
@given(log_lines(), st.data())
def test_damaged_bytes_are_told(lines: list[bytes], data: st.DataObject) -> None:
    content = bytearray(b"".join(lines))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=4) | st.just(b"\n"))
    told = inspected(bytes(content))
    assert list(as_text(told, LEVELS))


@st.composite
def sessions(draw: st.DrawFn) -> list[bytes]:
    """Lines as a session writes them: prompts and answers, checkpoints over what is live, undos of any of them."""
    lines: list[bytes] = []
    live: list[int] = []
    ordinal = names = 0
    for step in draw(st.lists(st.sampled_from(["say", "say", "compact", "undo"]), max_size=14)):
        if step == "say":
            lines.append(say(ordinal, prompt("p"), answer("a")))
            live += [ordinal, ordinal + 1]
            ordinal += 2
        elif step == "compact":
            names += 1
            live = live[draw(st.integers(0, len(live))) :]
            lines.append(checkpoint(f"c{names}", ordinal, {each: prompt(str(each)) for each in live}))
        else:
            lines.append(undo(f"c{draw(st.integers(1, max(names, 1)))}"))
    return lines


@settings(max_examples=100)
@given(sessions())
def test_what_is_live_is_what_a_resume_has(lines: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(b"".join(lines))
        told, replayed = inspect_log(path), replay_forwards(path)
    assert told.live == len(replayed.live)
    in_force = [each.record for each in told.compactions if each.record.compaction_id not in told.undone]
    assert (in_force[-1] if in_force else None) == replayed.checkpoint


@given(st.lists(st.integers(), max_size=40), st.integers(0, 5), st.integers(0, 5))
def test_both_ends_of_a_list_are_kept(items: list[int], first: int, last: int) -> None:
    collector: EndsCollector[int] = EndsCollector(first, last)
    for item in items:
        collector.add(item)
    ends = collector.ends()
    assert len(ends) == len(items)
    assert list(ends.first) == items[:first]
    assert list(ends.last) == items[first:][len(items[first:]) - len(ends.last) :]
    assert len(ends.last) == min(last, max(len(items) - first, 0))


def test_a_compaction_tells_what_went_what_stayed_and_what_was_carried(tmp_path: Path) -> None:
    path, tail_start = compacted(tmp_path)
    told = inspect_log(path)
    (one,) = told.compactions
    assert one.dropped == (OrdinalRange(0, tail_start - 1),)
    assert "Find the bug." in one.summary
    assert list(one.carried.changed) == ["src/app.py"]
    assert list(one.carried.commands) == ["make test → exit code 2"]
    assert one.before["toolResults"] > one.after.get("toolResults", 0)
    assert one.after["summary"] > 0
    # The summary, two messages of the tail, the new prompt.
    assert (told.live, told.messages) == (4, tail_start + 3)


def test_turns_say_how_they_ended(tmp_path: Path) -> None:
    path, _ = compacted(tmp_path)
    told = inspect_log(path)
    *_, ended, last = [each for each in told.timeline if isinstance(each, Turn)]
    assert ended.end is not None
    assert ended.end.cost == 0.25
    assert not ended.interrupted
    assert last.interrupted
    assert last.prompt == "And now?"


def test_a_prompt_beside_tool_results_steers_its_turn_and_one_behind_open_calls_begins_another() -> None:
    steered = ModelRequest([*results("a").parts, *prompt("rather that").parts])
    told = inspected(b"".join([say(0, prompt("1"), calls("a"), steered, calls("b")), say(4, prompt("2"), answer("3"))]))
    assert [(each.prompt, each.interrupted) for each in told.timeline if isinstance(each, Turn)] == [
        ("1", True),
        ("2", False),
    ]


def test_occupancy_is_what_the_provider_counted_and_a_checkpoint_shows_both_sides() -> None:
    lines = [
        say(0, prompt("1"), answer("2", 700)),
        say(2, prompt("3"), answer("4", 900)),
        checkpoint("c1", 4, {3: answer("4", 900)}),
        say(4, prompt("5"), answer("6", 300)),
    ]
    told = inspected(b"".join(lines))
    assert [(each.request, each.tokens.in_words) for each in told.points] == [
        (1, "700"),
        (2, "900"),
        (2, "9"),
        (2, "~3"),
        (3, "300"),
    ]
    assert [(mark.request, mark.kind, mark.number) for mark in told.marks] == [(2, "compaction", 1)]


def test_an_undo_brings_back_what_was_dropped() -> None:
    lines = [
        say(0, prompt("1"), answer("2", 700)),
        checkpoint("c1", 2, {}),
        say(2, prompt("3"), answer("4")),
        undo("c1"),
    ]
    told = inspected(b"".join(lines))
    assert told.live == 4
    assert told.undone == {"c1"}
    assert [mark.kind for mark in told.marks] == ["compaction", "undo"]


def test_a_log_of_any_size_is_told_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    moment = datetime(2026, 12, 1, tzinfo=UTC)
    result = ModelRequest([ToolReturnPart("read", "x" * 40_000, "c")])
    size = 0
    with path.open("wb") as file:
        size += file.write(encode(Header(1, SessionId("s"), "/w", moment, "0")))
        for ordinal in range(0, 900, 3):
            size += file.write(encode(MessagesEntry(AT, ordinal, (prompt("go"), result, answer("done", 5)))))
    assert size > 12_000_000
    tracemalloc.start()
    told = inspect_log(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told.turns == 300
    # The excerpts that are kept, and one line at a time: not the log.
    assert peak < size / 4
    seen = [step for turn in told.timeline if isinstance(turn, Turn) for step in turn.steps]
    assert all(len(part.excerpt) <= 600 for step in seen if isinstance(step, MessageSeen) for part in step.parts)
