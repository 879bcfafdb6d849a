"""What a round may take of the window (CASCADE §9)."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.compaction.carried import Carried
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.occupancy import Budgets, Levels
from agent_ls.compaction.round_room import room_for_answer, room_for_results
from agent_ls.compaction.summary import Summary, summary_message
from agent_ls.tokens import Tokens

WINDOW, FIXED = 8_000, 2_000
LEVELS = Levels.of(WINDOW, micro_reserve=0.4, full_reserve=0.2)
BUDGETS = Budgets.of(WINDOW, FIXED, keep_recent=20_000, keep_user=8_000)
CALL = ModelResponse(parts=[ToolCallPart("read_file", {"path": "a.py"}, "1")])


def prompt(words: int) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart("word " * words)])


def room(messages: list[ModelMessage], start: int) -> int:
    return room_for_results(messages, start, LEVELS, BUDGETS, Estimator())


def test_a_first_round_may_take_all_up_to_the_full_level() -> None:
    messages: list[ModelMessage] = [prompt(100), CALL]
    assert LEVELS.full - FIXED - room(messages, 0) == pytest.approx(Estimator().messages(messages), abs=5)


def test_what_was_said_before_keeps_no_more_than_a_compaction_keeps_of_it() -> None:
    earlier: list[ModelMessage] = [prompt(3_000), ModelResponse(parts=[TextPart("word " * 3_000)])]
    with_earlier = room([*earlier, prompt(100), CALL], 2)
    assert room([prompt(100), CALL], 0) - with_earlier == BUDGETS.summary + BUDGETS.user_words


def test_results_beside_a_kept_prompt_are_summarised_and_take_no_room() -> None:
    results: list[ModelRequestPart] = [
        ToolReturnPart("read_file", "x = 1\n" * 1_000, "0"),
        UserPromptPart("word " * 100),
    ]
    messages: list[ModelMessage] = [prompt(20), CALL, ModelRequest(parts=results), CALL]
    assert room(messages, 2) > room([prompt(1_100), CALL], 0) + 500


def test_a_prompt_behind_a_summary_counts_beside_it() -> None:
    summary = Summary({"## Goal": "word " * 2_000})
    element = summary_message(summary, Carried(), "", prompt(100).parts)
    with_summary = room([element, CALL], 0)
    assert room([prompt(100), CALL], 0) - with_summary == pytest.approx(BUDGETS.summary + BUDGETS.user_words, abs=5)


def test_a_prompt_that_nearly_fills_the_window_leaves_half_of_the_rest() -> None:
    for words in (4_000, 5_000):
        messages: list[ModelMessage] = [prompt(words), CALL]
        left = WINDOW - FIXED - Estimator().messages(messages)
        assert room(messages, 0) == pytest.approx(max(left // 2, 0), abs=5)
    assert room([prompt(9_000), CALL], 0) == 0


def test_nothing_said_yet_leaves_the_window_up_to_the_full_level() -> None:
    assert room([], 0) == LEVELS.full


@pytest.mark.parametrize(("projected", "left"), [(4_000, 3_000), (7_000, 750), (8_000, 0), (9_000, 0)])
def test_an_answer_gets_what_is_surely_left(projected: int, left: int) -> None:
    assert room_for_answer(Tokens.estimated(projected), LEVELS) == left
