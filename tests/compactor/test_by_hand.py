"""Compaction by hand, undo, and a disk that is full (CASCADE §7, §13)."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from agent_ls.tokens import Tokens
from tests.compaction.histories import unpaired
from tests.compactor.stage import GOOD, Stage
from tests.scripted_model import says


async def test_a_second_compaction_with_nothing_new_asks_nobody(stage: Stage) -> None:
    stage.fill(8, at=1_000)
    assert (await stage.compactor.by_hand("the tests")).outcome == "compacted"
    assert "the tests" in str(stage.requests[0])
    log = stage.log()
    assert (await stage.compactor.by_hand(None)).outcome == "nothingToCompact"
    assert len(stage.requests) == 1
    assert stage.log() == log


async def test_fault_36_undo_brings_the_originals_back(stage: Stage) -> None:
    stage.fill(5, at=4_500)
    original = stage.dump()
    await stage.compactor.by_hand(None)
    undone, message = stage.compactor.undo()
    assert undone
    assert "undone" in message
    assert stage.dump() == original
    assert stage.compactor.undo() == (False, "There is no compaction to undo.")


async def test_what_was_blanked_before_a_compaction_is_weighed_when_undo_brings_it_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path, compaction_keep_recent_tokens=1_500)
    weigh = stage.compactor.measure.estimator.messages
    for first, turns in ((0, 6), (6, 5)):
        stage.fill(turns, at=0, first=first)
        stage.user("and now?")
        stage.answer(at=weigh(stage.history.messages))
        await stage.compactor.at_turn_end()
    assert stage.tiers() == [("micro", "turnEnd")] * 2
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"
    # The newest count is of a history that was blanked in part: in full it is more than the window.
    assert weigh(each.message for each in stage.history.originals()) > stage.window
    assert stage.compactor.undo()[0]
    assert stage.tiers()[-1] == ("micro", "manual")
    assert weigh(stage.history.messages) <= stage.compactor.projected.count <= stage.window


async def test_fault_34_a_full_disk_changes_neither_memory_nor_log(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.fill(8, at=8_500)
    history, log = stage.dump(), stage.log()

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.write", full)
    report = await stage.compactor.by_hand(None)
    monkeypatch.undo()
    assert report.outcome == "summarizerFailed"
    assert "No space left" in report.message
    assert (stage.dump(), stage.log()) == (history, log)
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"


async def test_fault_12_the_estimate_shows_at_once_and_the_next_count_replaces_it(stage: Stage) -> None:
    stage.fill(8, at=7_000)
    report = await stage.compactor.by_hand(None)
    assert report.before == Tokens.measured(7_000)
    assert report.after == stage.compactor.used
    assert stage.compactor.used.basis == "estimated"
    assert stage.compactor.used.count < 7_000
    stage.user("go on")
    stage.answer(at=2_345)
    assert stage.compactor.used == Tokens.measured(2_345)


async def test_fault_15_a_cancelled_turn_can_be_compacted_and_goes_on(stage: Stage) -> None:
    stage.fill(8, at=1_000)
    stage.user("read two files")
    calls = [ToolCallPart("read_file", {"path": f"{number}.py"}, f"c{number}") for number in range(2)]
    stage.history.append(ModelResponse(parts=calls))
    stage.history.append(ModelRequest(parts=[ToolReturnPart("read_file", "first", "c0")]))
    stage.history.close_dangling_calls()
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"
    stage.user("and now?")
    assert not unpaired(stage.history.messages)


async def test_a_failure_by_hand_leaves_a_pause_as_it_was(tmp_path: Path) -> None:
    stage = Stage(tmp_path, lambda messages: says(""))
    stage.fill(8, at=8_500)
    for _ in range(4):
        await stage.compactor.at_turn_end()
    await stage.compactor.by_hand(None)
    await stage.compactor.at_turn_end()
    assert len(stage.requests) == 3 + 1
    stage.answers_with(lambda messages: says(GOOD))
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"
    assert not stage.compactor.is_paused
    assert "compaction" not in stage.warnings


async def test_a_history_that_holds_only_a_summary_is_nothing_to_compact(tmp_path: Path) -> None:
    stage = Stage(tmp_path, compaction_keep_recent_tokens=1)
    stage.fill(8, at=1_000)
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"
    assert len(stage.history.messages) == 1
    assert (await stage.compactor.by_hand(None)).outcome == "nothingToCompact"
    assert len(stage.requests) == 1


async def test_what_a_summary_cost_is_told_and_added_up(stage: Stage) -> None:
    stage.model = evolve(stage.model, free_of_charge=True)
    stage.fill(8, at=1_000)
    await stage.compactor.by_hand(None)
    assert stage.events[-1].cost == 0.0
    assert stage.history.totals.cost == 0.0
