"""The cascade at the end of a turn (CASCADE §3, §5): when a tier fires, and when it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import BinaryContent

from agent_ls.tokens import Tokens
from tests.compactor.stage import Stage


async def test_fault_01_one_compaction_after_a_turn_at_85_percent(stage: Stage) -> None:
    stage.fill(8, at=8_500)
    await stage.compactor.at_turn_end()
    assert stage.tiers() == [("full", "turnEnd")]
    assert len(stage.requests) == 1
    await stage.compactor.at_turn_end()
    assert len(stage.requests) == 1


async def test_fault_02_a_small_window_is_not_compacted_without_need(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=16_384)
    stage.user("go")
    for number in range(6):
        stage.round({f"f{number}": "x = 1\n" * 80}, at=2_000 + number * 500)
        await stage.compactor.before_request(0)
    stage.answer(at=5_500)
    await stage.compactor.at_turn_end()
    assert stage.events == []


@pytest.mark.parametrize(
    ("at", "tiers"), [(0, []), (5_999, []), (6_000, [("micro", "turnEnd")]), (8_000, [("full", "turnEnd")])]
)
async def test_the_tiers_fire_at_their_levels(tmp_path: Path, at: int, tiers: list[Any]) -> None:
    stage = Stage(tmp_path)
    stage.fill(12, at=at)
    await stage.compactor.at_turn_end()
    assert stage.tiers() == tiers


async def test_nothing_fires_when_compaction_is_off(tmp_path: Path) -> None:
    stage = Stage(tmp_path, compaction_enabled=False)
    stage.fill(8, at=9_900)
    await stage.compactor.at_turn_end()
    await stage.compactor.before_request(0)
    assert stage.events == []


async def test_micro_blanks_old_results_and_keeps_recent_ones(stage: Stage) -> None:
    stage.fill(12, at=6_500)
    before = stage.compactor.used
    await stage.compactor.at_turn_end()
    text = stage.text()
    assert "CONTENT-0 " not in text
    assert "CONTENT-11 " in text
    assert "ANSWER-0 " in text
    (event,) = stage.events
    assert event.before == before == Tokens.measured(6_500)
    assert event.after is not None
    assert event.after.count < 6_500
    assert event.after.basis == "estimated"
    assert stage.history.anything_elided


async def test_fault_41_between_passes_no_earlier_message_changes(stage: Stage) -> None:
    stage.fill(12, at=6_500)
    await stage.compactor.at_turn_end()
    after_first = list(stage.history.messages)
    stage.turn(12, at=6_100, words=5)
    await stage.compactor.at_turn_end()
    assert all(new is old for new, old in zip(stage.history.messages, after_first, strict=False))


async def test_fault_43_a_pasted_picture_compacts_nothing_and_is_sent(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=200_000)
    picture = BinaryContent(b"\x89PNG" * 786_432, media_type="image/png")
    stage.user(["What is this?", picture])
    assert await stage.compactor.before_request(0) == 0
    assert stage.compactor.projected.count < 10_000
    stage.answer("A cat.", at=1_900)
    await stage.compactor.at_turn_end()
    assert stage.events == []
    (part,) = stage.history.messages[0].parts
    assert part.content == ["What is this?", picture]  # type: ignore[union-attr]
