"""When a tier fires, and when it must not: pure decisions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from agent_ls.compaction.boundary import cut_before, newest_round
from agent_ls.compaction.carried import Carried
from agent_ls.compaction.cascade import (
    Breaker,
    full_boundary,
    has_something_to_summarize,
    is_quiet,
    shrinks,
    tier_at_turn_end,
)
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.occupancy import Levels
from agent_ls.compaction.summary import Summary, summary_message
from tests.compaction.histories import histories

LEVELS = Levels.of(1_048_576, micro_reserve=0.40, full_reserve=0.20)


@pytest.mark.parametrize(
    ("occupancy", "tier"),
    [(0, None), (629_144, None), (629_145, "micro"), (838_859, "micro"), (838_860, "full"), (2_000_000, "full")],
)
def test_a_tier_fires_at_its_level_and_not_below(occupancy: int, tier: str | None) -> None:
    assert tier_at_turn_end(occupancy, LEVELS) == tier


@pytest.mark.parametrize(("after", "lands"), [(899, True), (900, True), (901, False), (2_000, False)])
def test_what_leaves_more_than_ninety_percent_is_rejected(after: int, lands: bool) -> None:
    assert shrinks(1_000, after) is lands


def test_a_pass_that_frees_less_than_two_percent_of_the_window_is_quiet() -> None:
    assert is_quiet(1_999, 100_000, 0.02)
    assert not is_quiet(2_000, 100_000, 0.02)


@given(histories(), st.integers(0, 3_000))
def test_a_full_compaction_never_takes_what_the_model_has_not_answered(messages: list[ModelMessage], keep: int) -> None:
    assert full_boundary(messages, keep, 10**9, Estimator()).index <= newest_round(messages)
    assert full_boundary(messages, keep, 0, Estimator(), turn_start=0).index <= newest_round(messages)


def test_fault_25_three_failures_pause_until_the_history_has_grown_by_a_tenth() -> None:
    breaker = Breaker()
    for _ in range(2):
        breaker.failed(500)
        assert breaker.state(500, 1_000) == "closed"
    breaker.failed(500)
    assert breaker.state(599, 1_000) == "open"
    assert breaker.state(600, 1_000) == "closed"
    breaker.failed(600)
    assert breaker.state(699, 1_000) == "open", "grown, tried once more, and failed again"
    breaker.reset()
    assert breaker.state(600, 1_000) == "closed"


def test_fault_04_one_that_saves_too_little_is_not_tried_on_the_same_history_again() -> None:
    breaker = Breaker()
    breaker.rejected(500)
    assert breaker.state(500, 1_000) == "open"
    assert breaker.state(600, 1_000) == "closed"


def test_making_room_without_a_model_does_not_end_a_pause() -> None:
    breaker = Breaker()
    for _ in range(3):
        breaker.failed(800)
    breaker.shrunk(300)
    assert breaker.state(399, 1_000) == "open"
    assert breaker.state(400, 1_000) == "closed"


def test_a_previous_summary_and_the_running_prompt_are_nothing_to_summarise() -> None:
    summary = summary_message(Summary({"## Goal": "Ship."}), Carried(), "")
    prompt = ModelRequest(parts=[UserPromptPart("go")])
    answer = ModelResponse(parts=[TextPart("Yes.")])
    messages: list[ModelMessage] = [summary, prompt, answer]
    assert not has_something_to_summarize(messages, cut_before(messages, 0), None)
    assert not has_something_to_summarize(messages, cut_before(messages, 1), None)
    assert not has_something_to_summarize(messages, cut_before(messages, 2), 1)
    assert has_something_to_summarize(messages, cut_before(messages, 2), None)
    assert has_something_to_summarize(messages, cut_before(messages, 3), 1)
