from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    ToolSearchReturnPart,
    UserPromptPart,
)

from agent_ls.compaction.boundary import split_tail
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.micro import ELIDED, microcompact
from tests.compaction.histories import histories, unpaired

KEEP = st.integers(0, 500)


def run(messages: list[ModelMessage], keep: int) -> tuple[list[ModelMessage], int]:
    estimator = Estimator()
    result = microcompact(messages, split_tail(messages, keep, estimator), estimator)
    return list(result.messages), result.parts_elided


@given(histories(), KEEP)
def test_nothing_is_mutated_removed_or_reordered(messages: list[ModelMessage], keep: int) -> None:
    before = ModelMessagesTypeAdapter.dump_json(messages)
    after, _ = run(messages, keep)
    assert ModelMessagesTypeAdapter.dump_json(messages) == before
    assert len(after) == len(messages)
    for new, old in zip(after, messages, strict=True):
        assert type(new) is type(old)
        assert [part.part_kind for part in new.parts] == [part.part_kind for part in old.parts]


@given(histories(), KEEP)
def test_it_is_idempotent_and_a_no_op_returns_the_same_list(messages: list[ModelMessage], keep: int) -> None:
    estimator = Estimator()
    once = microcompact(messages, split_tail(messages, keep, estimator), estimator)
    boundary = split_tail(once.messages, 0, estimator)
    blanked = microcompact(once.messages, boundary, estimator)
    again = microcompact(blanked.messages, split_tail(blanked.messages, 0, estimator), estimator)
    assert again.parts_elided == 0
    assert again.messages is blanked.messages
    if once.parts_elided == 0:
        assert once.messages is messages


@given(histories(), KEEP)
def test_it_never_makes_a_history_larger(messages: list[ModelMessage], keep: int) -> None:
    after, _ = run(messages, keep)
    assert len(ModelMessagesTypeAdapter.dump_json(after)) <= len(ModelMessagesTypeAdapter.dump_json(messages))


@given(histories(), KEEP)
def test_what_comes_out_loads_and_pairs(messages: list[ModelMessage], keep: int) -> None:
    after, _ = run(messages, keep)
    dumped = ModelMessagesTypeAdapter.dump_json(after)
    assert ModelMessagesTypeAdapter.dump_json(ModelMessagesTypeAdapter.validate_json(dumped)) == dumped
    assert unpaired(after) == unpaired(messages)


@given(histories(), KEEP)
def test_fault_17_only_results_and_retries_change(messages: list[ModelMessage], keep: int) -> None:
    after, _ = run(messages, keep)
    for new, old in zip(after, messages, strict=True):
        if isinstance(old, ModelResponse):
            assert new is old
        for new_part, old_part in zip(new.parts, old.parts, strict=True):
            if isinstance(old_part, ThinkingPart | UserPromptPart):
                assert new_part is old_part


@given(histories(unfinished=True))
def test_results_the_model_has_not_seen_are_never_blanked(messages: list[ModelMessage]) -> None:
    estimator = Estimator()
    after = microcompact(messages, split_tail(messages, 0, estimator), estimator).messages
    index = len(messages)
    while index and isinstance(messages[index - 1], ModelRequest):
        index -= 1
        assert after[index] is messages[index]


def _read(number: int) -> list[ModelMessage]:
    return [
        ModelResponse(parts=[ToolCallPart("read_file", {"path": f"{number}.py"}, "same")]),
        ModelRequest(parts=[ToolReturnPart("read_file", f"content {number} " * 50, "same")]),
        ModelResponse(parts=[TextPart("seen")]),
    ]


def _contents(messages: list[ModelMessage]) -> list[object]:
    return [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


def test_fault_40_results_behind_a_blanked_one_are_reached() -> None:
    messages = [*_read(1), *_read(2), ModelRequest(parts=[UserPromptPart("go")])]
    first, count = run(messages, 10)
    assert count == 2
    more = [*first, *_read(3), *_read(4), ModelRequest(parts=[UserPromptPart("on")])]
    second, count = run(more, 10)
    assert count == 2
    assert _contents(second) == [ELIDED] * 4


def test_framework_typed_results_stay_because_they_would_not_load() -> None:
    part = ToolSearchReturnPart(content={"discovered_tools": []}, tool_call_id="a")
    messages: list[ModelMessage] = [ModelRequest(parts=[part]), ModelRequest(parts=[UserPromptPart("go")])]
    after, count = run(messages, 0)
    assert count == 0
    assert after == messages


def test_a_retried_result_is_blanked() -> None:
    retried = replace(ToolReturnPart("read_file", "bad arguments " * 50, "a"), outcome="retried")
    messages: list[ModelMessage] = [
        ModelResponse(parts=[ToolCallPart("read_file", {}, "a")]),
        ModelRequest(parts=[retried]),
        ModelRequest(parts=[UserPromptPart("go")]),
    ]
    after, count = run([*messages[:2], *_read(1), *messages[2:]], 5)
    assert count == 2
    assert _contents(after) == [ELIDED, ELIDED]
