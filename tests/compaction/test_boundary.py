import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.compaction.boundary import (
    RECENT_RESULTS,
    Boundary,
    answers_a_call,
    cut_before,
    is_valid_cut,
    newest_round,
    recent_tail,
    split_tail,
)
from agent_ls.compaction.estimate import Estimator
from tests.compaction.histories import histories, legacy_retry, unpaired

ROOM = st.integers(0, 3_000)


@given(histories(), ROOM)
def test_fault_16_no_pair_is_split_parallel_calls_included(messages: list[ModelMessage], keep: int) -> None:
    boundary = split_tail(messages, keep, Estimator())
    assert not unpaired(messages[boundary.index :])
    assert not [each for each in unpaired(messages[: boundary.index]) if "no call" in each]


@given(histories(), ROOM)
def test_the_tail_fits_but_for_the_response_its_results_belong_to(messages: list[ModelMessage], keep: int) -> None:
    estimator = Estimator()
    tail = messages[split_tail(messages, keep, estimator).index :]
    if estimator.messages(tail) > keep and len(tail) < len(messages):
        assert isinstance(tail[0], ModelResponse)
        assert estimator.messages(tail[1:]) <= keep + len(tail)


@given(histories(), ROOM)
def test_no_longer_tail_would_fit(messages: list[ModelMessage], keep: int) -> None:
    estimator = Estimator()
    start = split_tail(messages, keep, estimator).index
    if start > 0:
        assert estimator.messages(messages[start - 1 :]) + len(messages) > keep


@given(histories())
def test_the_ends_mean_everything_and_nothing(messages: list[ModelMessage]) -> None:
    estimator = Estimator()
    assert split_tail(messages, 10**9, estimator).index == 0
    assert split_tail(messages, 0, estimator).index == len(messages)


@given(histories(), ROOM)
def test_kept_messages_keep_order_and_identity(messages: list[ModelMessage], keep: int) -> None:
    before = list(messages)
    split_tail(messages, keep, Estimator())
    assert len(before) == len(messages)
    assert all(new is old for new, old in zip(messages, before, strict=True))


def test_one_long_turn_does_find_a_cut() -> None:
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
    for number in range(40):
        messages.append(ModelResponse(parts=[ToolCallPart("read_file", {"path": f"{number}.py"}, "same")]))
        messages.append(ModelRequest(parts=[ToolReturnPart("read_file", "x = 1\n" * 200, "same")]))
    index = split_tail(messages, 2_000, Estimator()).index
    assert 0 < index < len(messages)
    assert isinstance(messages[index], ModelResponse)


@pytest.mark.parametrize(
    ("part", "valid"),
    [
        (UserPromptPart("hi"), True),
        (ToolReturnPart("t", "r", "c"), False),
        (ToolReturnPart("t", "r", "c", outcome="retried"), False),
        (RetryFeedbackPart(content="again", retry=RetryInfo(cause="no_output")), False),
        (legacy_retry("again"), False),
    ],
)
def test_a_cut_is_valid_at_requests_that_answer_nothing(part: ModelRequestPart, valid: bool) -> None:
    messages: list[ModelMessage] = [
        ModelResponse(parts=[TextPart("a")]),
        ModelRequest(parts=[part]),
        ModelResponse(parts=[TextPart("b")]),
    ]
    assert is_valid_cut(messages, 1) is valid


@given(histories(), st.integers(1, 8))
def test_a_tail_that_fits_exactly_is_kept(messages: list[ModelMessage], count: int) -> None:
    estimator = Estimator()
    keep = sum(estimator.message(message) for message in messages[-count:])
    assert len(messages) - split_tail(messages, keep, estimator).index >= min(count, len(messages))


class Untouchable:
    def __str__(self) -> str:
        raise AssertionError("this message was weighed")


def test_only_the_tail_is_weighed(caplog: pytest.LogCaptureFixture) -> None:
    old = ModelRequest(parts=[ToolReturnPart("t", {"value": Untouchable()}, "a")])
    messages: list[ModelMessage] = [old, ModelResponse(parts=[TextPart("long " * 900)]), ModelResponse(parts=[])]
    with caplog.at_level("DEBUG", "agent_ls.compaction.estimate"):
        split_tail(messages, 100, Estimator())
        assert not caplog.records
        Estimator().message(old)
        assert caplog.records


def test_a_response_without_a_word_has_answered_nothing() -> None:
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("go")]),
        ModelResponse(parts=[ToolCallPart("t", {}, "a")]),
        ModelRequest(parts=[ToolReturnPart("t", "r", "a")]),
        ModelResponse(parts=[]),
    ]
    assert newest_round(messages) == 1
    assert newest_round([*messages[:3], ModelResponse(parts=[TextPart("seen")])]) == 4


@given(histories(unfinished=True))
def test_what_the_model_has_not_answered_stays_together(messages: list[ModelMessage]) -> None:
    start = newest_round(messages)
    assert start < len(messages)
    assert not unpaired(messages[start:])
    assert cut_before(messages, start).index == start


def test_nobody_else_makes_a_boundary() -> None:
    with pytest.raises(TypeError):
        Boundary(3, object())
    boundary = split_tail([], 0, Estimator())
    with pytest.raises(AttributeError):
        boundary.index = 5


@given(histories(), ROOM)
def test_the_recent_tail_is_between_a_third_of_the_room_and_all_of_it(messages: list[ModelMessage], keep: int) -> None:
    estimator = Estimator()
    index = recent_tail(messages, keep, estimator).index
    assert is_valid_cut(messages, index)
    assert split_tail(messages, keep, estimator).index <= index
    assert estimator.messages(messages[index:]) <= keep * 1.5 + len(messages)
    if estimator.messages(messages[split_tail(messages, keep, estimator).index :]) <= keep * 1.5:
        assert index <= split_tail(messages, keep // 3, estimator).index


@given(histories(), ROOM)
def test_the_recent_tail_has_the_newest_ten_results_or_all_that_fit(messages: list[ModelMessage], keep: int) -> None:
    estimator = Estimator()
    index = recent_tail(messages, keep, estimator).index
    longest = split_tail(messages, keep, estimator).index
    results = sum(answers_a_call(part) for message in messages[index:] for part in message.parts)
    too_long = estimator.messages(messages[longest:]) > keep * 1.5
    assert results >= RECENT_RESULTS or index == longest or too_long


def test_the_recent_tail_ends_where_ten_results_are_enough() -> None:
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
    for number in range(40):
        messages.append(ModelResponse(parts=[ToolCallPart("read_file", {"path": f"{number}.py"}, f"c{number}")]))
        messages.append(ModelRequest(parts=[ToolReturnPart("read_file", "x = 1\n" * 20, f"c{number}")]))
    room = Estimator().messages(messages) // 2
    assert len(messages) - recent_tail(messages, room, Estimator()).index == 2 * RECENT_RESULTS


def test_ten_small_results_are_not_enough_where_there_is_room() -> None:
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
    for number in range(400):
        messages.append(ModelResponse(parts=[ToolCallPart("ls", {}, f"c{number}")]))
        messages.append(ModelRequest(parts=[ToolReturnPart("ls", "a.py", f"c{number}")]))
    estimator = Estimator()
    tail = messages[recent_tail(messages, 3_000, estimator).index :]
    assert len(tail) > 2 * RECENT_RESULTS
    assert 900 < estimator.messages(tail) <= 1_050


def test_a_huge_response_goes_with_its_results() -> None:
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("go")]),
        ModelResponse(parts=[ToolCallPart("write_file", {"content": "value = 1\n" * 2_000}, "c")]),
        ModelRequest(parts=[ToolReturnPart("write_file", "written", "c")]),
        ModelRequest(parts=[UserPromptPart("and use tabs")]),
        ModelResponse(parts=[TextPart("I will.")]),
    ]
    estimator = Estimator()
    assert split_tail(messages, 500, estimator).index == 1
    assert recent_tail(messages, 500, estimator).index == 3
