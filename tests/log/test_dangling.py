from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from agent_ls.log.dangling import INTERRUPTED, close_dangling_calls, is_tool_result, pair_up

from .strategies import answer, calls, dump, messages, prompt, results


def unpaired(history: list[ModelMessage]) -> list[str]:
    """What a strict provider would refuse: by position, each response's calls against the results before the next."""
    faults: list[str] = []
    wanted: Counter[str] = Counter()
    for message in [*history, answer("end")]:
        if isinstance(message, ModelResponse):
            faults += [f"call {each} has no result" for each in wanted.elements()]
            wanted = Counter(part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart))
        else:
            for part in message.parts:
                if is_tool_result(part):
                    if wanted[part.tool_call_id] > 0:
                        wanted[part.tool_call_id] -= 1
                    else:
                        faults.append(f"result {part.tool_call_id} has no call")
    return faults


@given(st.lists(messages, max_size=8))
def test_fault_15_every_call_has_one_result_and_every_result_a_call(history: list[ModelMessage]) -> None:
    assert unpaired(close_dangling_calls(history)) == []


@given(st.lists(messages, max_size=8))
def test_closing_twice_changes_nothing_and_nothing_depends_on_the_time(history: list[ModelMessage]) -> None:
    once = close_dangling_calls(history)
    twice = close_dangling_calls(once)
    assert all(one is other for one, other in zip(once, twice, strict=True))
    assert dump(once) == dump(close_dangling_calls(history))


@given(st.lists(messages, max_size=8))
def test_responses_and_unaffected_requests_stay_the_same_objects_in_order(history: list[ModelMessage]) -> None:
    paired = pair_up(history)
    sources = [each.source for each in paired if each.source is not None]
    assert sources == sorted(set(sources))
    kept = {id(each.message) for each in paired}
    assert all(id(message) in kept for message in history if isinstance(message, ModelResponse))
    assert all(
        id(message) in kept
        for message in history
        if isinstance(message, ModelRequest) and not any(map(is_tool_result, message.parts))
    )


def test_a_valid_history_is_left_alone() -> None:
    history: list[ModelMessage] = [prompt("go"), calls("a", "b"), results("a", "b"), answer("done")]
    assert all(one is other for one, other in zip(close_dangling_calls(history), history, strict=True))


def test_fault_15_a_cancel_between_two_results_answers_the_other_call() -> None:
    history = close_dangling_calls([prompt("go"), calls("a", "b"), results("a"), prompt("next")])
    interrupted = history[3].parts[0]
    assert isinstance(interrupted, ToolReturnPart)
    assert (interrupted.tool_call_id, interrupted.outcome, interrupted.content) == ("b", "interrupted", INTERRUPTED)
    assert isinstance(history[4].parts[0], UserPromptPart)


def test_an_id_that_is_used_again_does_not_hide_an_open_call() -> None:
    history = close_dangling_calls([calls("a"), prompt("steer"), calls("a"), results("a")])
    assert [type(part).__name__ for message in history for part in message.parts] == [
        "ToolCallPart",
        "ToolReturnPart",
        "UserPromptPart",
        "ToolCallPart",
        "ToolReturnPart",
    ]


def test_calls_that_share_an_id_in_one_response_each_get_a_result() -> None:
    history = close_dangling_calls([calls("a", "a"), results("a")])
    assert [part.outcome for message in history[1:] for part in message.parts] == ["success", "interrupted"]  # type: ignore[union-attr]


def test_results_without_a_call_go_and_an_empty_request_with_them() -> None:
    mixed = ModelRequest([ToolReturnPart("read", "x", "gone"), UserPromptPart("kept")], metadata={"kept": True})
    history = close_dangling_calls([results("gone"), mixed, answer("ok")])
    assert len(history) == 2
    assert history[0].parts == [mixed.parts[1]]
    assert history[0].metadata == {"kept": True}
