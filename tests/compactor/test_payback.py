"""Inside a turn room is made between the two levels, but only where it pays (ADR 10)."""

from __future__ import annotations

from pathlib import Path

from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from tests.compaction.histories import unpaired
from tests.compactor.stage import Stage
from tests.scripted_model import says

PROMPT = "PROMPT of this very turn"
WINDOW = 20_000


async def rounds(stage: Stage, count: int, *, upto: float, text: str = "value = 1\n" * 40, said: str = "") -> int:
    """So many requests of one turn, none of them above a share of the window; the prompt's index."""
    start = 0
    for number in range(count):
        start = await stage.compactor.before_request(start)
        if stage.compactor.projected.count < stage.window * upto:
            stage.round({f"f{number}": text}, said=said)
        else:
            stage.round({f"f{number}": "ok"})
    return start


async def test_old_results_go_before_the_full_level_once_that_pays(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=WINDOW)
    stage.user(PROMPT)
    await rounds(stage, 150, upto=0.65, text="value = 1\n" * 80)
    assert set(stage.tiers()) <= {("micro", "guard"), ("full", "guard")}
    assert ("micro", "guard") in stage.tiers()
    assert all(
        event.before is not None and event.before.count < stage.compactor.levels().full for event in stage.events
    )


async def test_below_the_micro_level_nothing_changes_whatever_it_costs(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=WINDOW)
    stage.user(PROMPT)
    await rounds(stage, 100, upto=0.4)
    assert stage.compactor.projected.count < stage.compactor.levels().micro
    assert stage.events == []


async def test_nothing_changes_as_soon_as_the_micro_level_is_reached(tmp_path: Path) -> None:
    """A pass breaks the prompt cache: it has to pay first."""
    stage = Stage(tmp_path, window=WINDOW)
    stage.user(PROMPT)
    for number in range(14):
        stage.round({f"f{number}": "value = 1\n" * 150})
    assert stage.compactor.levels().micro < stage.compactor.projected.count < stage.compactor.levels().full
    before = list(stage.history.messages)
    await stage.compactor.before_request(0)
    assert stage.events == []
    assert list(stage.history.messages) == before


async def test_a_summary_that_pays_keeps_the_prompt_and_all_pairs(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=WINDOW)
    stage.user(PROMPT)
    start = await rounds(stage, 150, upto=0.7, text="ok", said="so the next value is computed " * 20)
    assert ("full", "guard") in stage.tiers()
    assert all(
        event.before is not None and event.before.count < stage.compactor.levels().full for event in stage.events
    )
    assert PROMPT in str(stage.history.messages[start])
    assert str(stage.history.messages).count(PROMPT) == 1
    assert not unpaired(stage.history.messages)


async def test_a_summary_that_failed_is_not_tried_again_at_the_next_request(tmp_path: Path) -> None:
    stage = Stage(tmp_path, lambda messages: says(""), window=WINDOW)
    stage.user(PROMPT)
    asked: list[int] = []
    for number in range(150):
        await stage.compactor.before_request(0)
        asked.append(len(stage.requests))
        room = stage.compactor.projected.count < stage.window * 0.7
        stage.round({f"f{number}": "ok"}, said="so the next value is computed " * 20 if room else "")
    first = asked.index(1)
    assert asked[first : first + 3] == [1, 1, 1]
    assert len(stage.requests) <= 3
    assert not stage.tiers()


async def test_nothing_pays_inside_a_turn_where_that_is_switched_off(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=WINDOW, compaction_mid_turn=False)
    stage.user(PROMPT)
    await rounds(stage, 150, upto=0.7)
    assert stage.events == []


async def nearly_full(stage: Stage, *, results: int) -> None:
    """A turn at the full level, so many of whose results are large; the rest is talk, which no pass can blank."""
    stage.user(PROMPT)
    for number in range(results):
        stage.round({f"f{number}": "value = 1\n" * 240})
    number = 0
    while stage.compactor.projected.count < stage.compactor.levels().full:
        stage.round({f"t{number}": "ok"}, said="so the next value is computed " * 20)
        number += 1


async def test_at_the_full_level_blanking_is_enough_where_it_gets_under_the_micro_level(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=WINDOW)
    await nearly_full(stage, results=8)
    await stage.compactor.before_request(0)
    assert stage.tiers() == [("micro", "guard")]
    assert stage.compactor.projected.count < stage.compactor.levels().micro


async def test_at_the_full_level_a_pass_that_gets_nowhere_is_left_out_for_a_summary(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=WINDOW)
    await nearly_full(stage, results=2)
    await stage.compactor.before_request(0)
    assert stage.tiers() == [("full", "guard")]


async def test_where_no_summary_can_be_had_every_pass_that_is_worth_it_is_made(tmp_path: Path) -> None:
    stage = Stage(tmp_path, lambda messages: says(""), window=WINDOW)
    await nearly_full(stage, results=2)
    await stage.compactor.before_request(0)
    assert stage.tiers() == [("micro", "guard")]
    assert stage.compactor.projected.count < stage.compactor.levels().full


async def test_a_huge_response_behind_the_newest_prompt_does_not_end_the_turn(stage: Stage) -> None:
    stage.user("write it")
    stage.answer("value = 1\n" * 40)
    stage.history.append(
        ModelResponse(parts=[ToolCallPart("write_file", {"content": "value = 1\n" * 2_200}, "c")]),
        ModelRequest(parts=[ToolReturnPart("write_file", "written", "c")]),
        ModelRequest(parts=[UserPromptPart(PROMPT)]),
    )
    stage.round({"a.py": "ok"})
    assert stage.compactor.projected.count >= stage.compactor.levels().full
    await stage.compactor.before_request(4)
    assert stage.tiers() == [("full", "guard")]
    assert stage.compactor.projected.count < stage.compactor.levels().micro
