"""A whole session with a kill, or a failure, at every single file operation: enumerated, not sampled."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage

from agent_ls.errors import LogUnwritable
from agent_ls.history import Checkpoint, History
from agent_ls.log.catalog import list_sessions
from agent_ls.log.dangling import close_dangling_calls
from agent_ls.log.replay import replay, replay_forwards
from agent_ls.protocol import CompactionId, TurnId, TurnUsage
from agent_ls.tokens import Tokens

from .disk.faulty_files import Fault, FaultyFiles, Killed
from .log.strategies import answer, calls, prompt, results
from .log.test_dangling import unpaired

USAGE = TurnUsage(input_tokens=1, output_tokens=1, cache_read_tokens=0, requests=1)

Step = Callable[[History], object]


def compact(name: str, tail_start: int) -> Step:
    def step(history: History) -> None:
        tail = min(tail_start, len(history.messages))
        summary = prompt(f"summary {name}")
        history.compact(
            Checkpoint(CompactionId(name), summary, tail, "turnEnd", Tokens.measured(9), Tokens.estimated(3))
        )

    return step


SESSION: list[Step] = [
    lambda history: history.append(prompt("one \ud800\u2028")),
    lambda history: asyncio.run(history.append_durably(calls("a", "b"))),
    lambda history: history.append(results("a")),
    lambda history: history.append(results("b"), prompt("steer")),
    lambda history: history.append(answer("two")),
    lambda history: asyncio.run(history.record_turn(TurnId("t1"), "end_turn", USAGE)),
    compact("c1", 5),
    lambda history: history.append(prompt("three")),
    lambda history: asyncio.run(history.append_durably(answer("four"))),
    compact("c2", 2),
    lambda history: history.undo_compaction(),
    lambda history: history.append(prompt("five"), answer("six")),
    lambda history: history.record_memory("Counted to six."),
    lambda history: history.close(),
]

SYNCED = [2, 6, 7, 9, 10, 11, 13, 14]
"""After how many steps everything so far is on the disk itself."""


def told_by(messages: Sequence[ModelMessage]) -> list[str]:
    """A history without its times, so that two runs can be compared."""
    kept = ("content", "args", "tool_call_id", "outcome")
    return [
        ascii([(type(part).__name__, *(getattr(part, name, None) for name in kept)) for part in message.parts])
        for message in close_dangling_calls(messages)
    ]


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def on_disk(history: History) -> list[str]:
    if not history.path.exists():
        return []
    told = replay(history.path)
    assert told == replay_forwards(history.path)
    return told_by([each.message for each in told.live])


def release_lock(history: History) -> None:
    """As the system does for a dead process, and nothing else."""
    log = history._journal._log
    if log is not None:
        log._lock.release()


@pytest.fixture
def faultless(tmp_path: Path) -> tuple[list[list[str]], int]:
    """What the session is after each number of steps, and how many file operations it takes in all."""
    files = FaultyFiles()
    history = History.create(tmp_path, directory=folder(tmp_path / "faultless"), files=files)
    states = [told_by(history.messages)]
    for step in SESSION:
        step(history)
        states.append(told_by(history.messages))
    return states, files.count


def run_until_killed(history: History) -> int:
    """How many steps of the session returned before the kill."""
    for done, step in enumerate(SESSION):
        try:
            step(history)
        except Killed:
            return done
    pytest.fail("nothing was killed")


@pytest.mark.parametrize("fault", ["kills", "kills after half", "cuts the power"])
def test_killed_at_every_operation_each_step_is_on_disk_as_a_whole_or_not_at_all(
    tmp_path: Path, faultless: tuple[list[list[str]], int], fault: Fault
) -> None:
    states, operations = faultless
    assert operations > 20
    for at in range(operations):
        history = History.create(tmp_path, directory=folder(tmp_path / f"{at}"), files=FaultyFiles(fault, {at}))
        done = run_until_killed(history)
        release_lock(history)
        # A kill loses nothing that was done, a power cut nothing that was done before the last sync.
        kept = done if "kills" in fault else max([0, *(step for step in SYNCED if step <= done)])
        assert on_disk(history) in states[kept : done + 2], f"at operation {at}, in step {done}"
        if history.path.exists():
            survivor = History.resume(history.path)
            assert unpaired(list(survivor.messages)) == []
            survivor.append(prompt("after"), answer("all"))
            survivor.close()
            assert on_disk(survivor) == told_by(survivor.messages)


@pytest.mark.parametrize("fault", ["fails", "fails after half"])
@pytest.mark.parametrize("lasting", [False, True])
def test_failing_at_every_operation_the_session_goes_on_and_is_saved_in_the_end(
    tmp_path: Path, faultless: tuple[list[list[str]], int], fault: Fault, lasting: bool
) -> None:
    states, operations = faultless
    *steps, _close = SESSION
    for at in range(operations):
        steps_that_fail = range(at, 10_000) if lasting else {at}
        files = FaultyFiles(fault, steps_that_fail, merciful=True)
        history = History.create(tmp_path, directory=folder(tmp_path / f"{at}"), files=files)
        refused = False
        for step in steps:
            before = history.messages
            try:
                step(history)
            except LogUnwritable:
                refused = True
                assert history.messages is before
            on_disk(history)
        if not refused:
            assert told_by(history.messages) == states[-1]
        files.steps = range(0)
        history.append()
        assert history.unsaved_reason is None
        assert on_disk(history) == told_by(history.messages)
        history.close()


def test_a_clock_that_goes_backwards_changes_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = itertools.count()
    monkeypatch.setattr("agent_ls.history.now", lambda: datetime(2026, 1, 9, tzinfo=UTC) - timedelta(hours=next(hours)))
    history = History.create(tmp_path, directory=folder(tmp_path / "sessions"))
    for step in SESSION:
        step(history)
        assert on_disk(history) == told_by(history.messages)
    (row,) = list_sessions(history.path.parent)
    assert row.updated < row.created
    assert row.messages == len(list(history.originals()))


def test_what_a_full_disk_refused_is_saved_at_the_end_if_there_is_room_by_then(tmp_path: Path) -> None:
    files = FaultyFiles("fails", range(10_000))
    history = History.create(tmp_path, directory=folder(tmp_path / "sessions"), files=files)
    history.append(prompt("one"), answer("two"))
    assert history.unsaved_reason
    files.steps = range(0)
    history.close()
    assert on_disk(history) == told_by(history.messages)
