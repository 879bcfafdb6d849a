import base64
import gc
import json
import random
import weakref
from collections import defaultdict
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.compaction.estimate import IMAGE_TOKENS, Estimator, estimate_text
from agent_ls.compaction.occupancy import Levels, Measure
from benchmarks.bench_estimate import tails_by_estimator
from benchmarks.sessions import load_sessions
from tests.compaction.histories import histories
from tests.simulator.tokens import EncodingName, count_text

SESSIONS = sorted((Path(__file__).parents[1] / "data" / "sessions").glob("*.json"))
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def result(content: Any) -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("read_file", content, "a")])


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("nobody may read this")


@given(ANY_VALUE)
def test_anything_a_tool_returns_can_be_weighed(content: Any) -> None:
    assert Estimator().message(result(content)) > 0


def test_what_cannot_be_read_is_weighed_all_the_same() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for content in (Hostile(), endless, {"nested": Hostile()}, {1, 2}, "\ud800 alone", b"\xff\xfe"):
        assert Estimator().message(result(content)) > 0


@given(histories())
def test_parts_and_frame_are_all_a_message_weighs(messages: list[ModelMessage]) -> None:
    estimator = Estimator()
    for message in messages:
        assert (
            0
            <= estimator.message(message) - sum(part.times(estimator.factor) for part in estimator.parts(message))
            <= 5
        )


@given(st.text(), st.text())
def test_a_longer_text_is_not_lighter_than_its_beginning(text: str, more: str) -> None:
    assert estimate_text(text + more) >= estimate_text(text) - 1e-6


def test_a_long_text_is_weighed_by_samples_that_stand_for_the_whole() -> None:
    line = '    "name": value_of(item, 42),  # why\n'
    assert estimate_text(line * 20_000) == pytest.approx(20_000 * estimate_text(line), rel=0.05)


def test_fault_43_a_picture_is_weighed_by_its_kind_not_its_bytes() -> None:
    picture = BinaryContent(b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(3_000_000), media_type="image/png")
    prompt = ModelRequest(parts=[UserPromptPart(["what is this?", picture])])
    estimator = Estimator()
    assert IMAGE_TOKENS <= estimator.message(prompt) <= IMAGE_TOKENS + 100
    assert estimator.message(result([picture, "header"])) <= IMAGE_TOKENS + 100
    assert estimator.message(result({"shot": {"png": picture}})) <= IMAGE_TOKENS + 100
    assert estimator.message(ModelRequest(parts=[UserPromptPart([ImageUrl("https://x.example/a.png")])])) <= 2_000
    levels = Levels.of(16_384, micro_reserve=0.4, full_reserve=0.2)
    assert Measure().projected([prompt], 0).count < levels.micro


def test_fault_44_base64_is_weighed_near_one_token_a_character() -> None:
    text = base64.b64encode(random.Random(2).randbytes(750_000)).decode()
    assert len(text) == 1_000_000
    assert 600_000 <= Estimator().message(result(text)) <= 1_000_000


def test_a_picture_is_not_calibrated_as_text_is() -> None:
    estimator = Estimator()
    picture = ModelRequest(parts=[UserPromptPart([BinaryContent(b"x" * 900, media_type="image/png")])])
    before = estimator.message(picture)
    prose = result("what the provider counts twice as much\n" * 200)
    for _ in range(20):
        estimator.observe([prose], round(estimate_text("what the provider counts twice as much\n" * 200) * 2))
    assert estimator.factor > 1.8
    assert estimator.message(picture) - before <= 10


def test_a_picture_in_a_span_does_not_change_what_its_text_is_taken_for() -> None:
    estimator = Estimator()
    prose = "what the provider counts as the estimate does\n" * 100
    span = [result(prose), ModelRequest(parts=[UserPromptPart([BinaryContent(b"x" * 900, media_type="image/png")])])]
    for _ in range(20):
        estimator.observe(span, round(estimate_text(prose) * 1.1) + IMAGE_TOKENS)
    assert estimator.factor == pytest.approx(1.1, rel=0.02)


class Seen:
    """A tool's return value that knows how often it was read."""

    def __init__(self) -> None:
        self.times = 0

    def __str__(self) -> str:
        self.times += 1
        return "content"


def test_each_message_is_weighed_once_in_its_life() -> None:
    content = Seen()
    message = result({"value": content})
    estimator = Estimator()
    for _ in range(3):
        estimator.message(message)
        estimator.messages([message, message])
        estimator.parts(message)
        estimator.observe([message], 40)
    assert content.times == 1


def test_what_leaves_the_history_is_not_kept() -> None:
    estimator = Estimator()
    message = result("x" * 1_000)
    estimator.message(message)
    gone = weakref.ref(message)
    del message
    gc.collect()
    assert gone() is None


def test_an_id_used_again_is_weighed_again() -> None:
    estimator = Estimator()
    for length in range(1, 400):
        message = result("word " * length)
        assert estimator.message(message) == Estimator().message(message)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(-5_000, 500_000)), max_size=30))
def test_no_count_however_odd_turns_the_estimate_around(observations: list[tuple[int, int]]) -> None:
    estimator = Estimator()
    for lines, counted in observations:
        estimator.observe([result("a line of a log with 3 numbers: 1 2 3\n" * lines)], counted)
        assert 0.4 <= estimator.factor <= 2.5


def test_a_count_that_cannot_be_of_these_messages_teaches_nothing() -> None:
    estimator = Estimator()
    before = estimator.factor
    blanked_meanwhile = result("this was blanked before it was counted\n" * 500)
    estimator.observe([blanked_meanwhile], 40)
    estimator.observe([blanked_meanwhile], -9_000)
    estimator.observe([], 500)
    assert estimator.factor == before


@pytest.mark.parametrize("truth", [0.8, 1.0, 1.4, 2.0])
def test_a_session_learns_what_its_provider_counts(truth: float) -> None:
    estimator = Estimator()
    for number in range(40):
        message = result(f"round {number}: the file was read and looks fine\n" * 60)
        estimator.observe([message], round(Estimator().message(message) / Estimator().factor * truth))
    assert estimator.factor == pytest.approx(truth, rel=0.05)


def test_a_provider_that_counts_far_more_is_followed_as_far_as_the_limit() -> None:
    estimator = Estimator()
    for number in range(60):
        message = result(f"round {number}: the file was read and looks fine\n" * 60)
        estimator.observe([message], 9 * Estimator().message(message))
    assert estimator.factor == pytest.approx(2.5, rel=0.02)


def test_one_odd_message_moves_the_estimate_little() -> None:
    estimator = Estimator()
    ordinary = result("an ordinary line of output\n" * 300)
    for _ in range(10):
        estimator.observe([ordinary], round(estimate_text("an ordinary line of output\n" * 300) * 1.2))
    before = estimator.factor
    estimator.observe([result("odd " * 30)], 60)
    assert estimator.factor == pytest.approx(before, rel=0.05)


def _texts(message: ModelMessage) -> list[tuple[str, str]]:
    found = []
    for part in message.parts:
        match part:
            case ToolCallPart():
                arguments = part.args if isinstance(part.args, str) else json.dumps(part.args, ensure_ascii=False)
                found.append(("call", part.tool_name + arguments))
            case ToolReturnPart():
                found.append(("result", part.tool_name + part.model_response_str()))
            case ThinkingPart():
                found.append(("thinking", part.content))
            case TextPart():
                found.append(("answer", part.content))
            case _ if isinstance(content := getattr(part, "content", None), str):
                found.append(("prompt", content))
    return found


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_after_calibration_each_kind_is_within_fifteen_percent_of_a_real_tokenizer(
    path: Path, encoding: EncodingName
) -> None:
    messages = ModelMessagesTypeAdapter.validate_json(path.read_bytes())
    estimator = Estimator()
    for message in messages:
        # A provider frames every message and part with a few tokens of its own.
        counted = 3 + sum(4 + count_text(text, encoding) for _, text in _texts(message))
        estimator.observe([message], counted)
    estimated: dict[str, float] = defaultdict(float)
    real: dict[str, int] = defaultdict(int)
    for kind, text in (each for message in messages for each in _texts(message)):
        estimated[kind] += estimator.text(text)
        real[kind] += count_text(text, encoding)
    for kind, count in real.items():
        if count >= 200:
            assert estimated[kind] == pytest.approx(count, rel=0.15), kind


def test_a_tail_of_twenty_thousand_tokens_is_near_that_by_the_providers_own_count() -> None:
    counts = [each for session in load_sessions() for each in tails_by_estimator(session.messages())]
    cuts = quantiles(counts, n=20)
    assert len(counts) > 500
    assert cuts[0] >= 17_000
    assert cuts[-1] <= 24_000


def test_a_resumed_session_is_calibrated_by_what_its_responses_counted() -> None:
    def turn(number: int) -> list[ModelMessage]:
        text = f"result {number}\n" * 400
        response = ModelResponse(parts=[ToolCallPart("read_file", {"path": f"{number}.py"}, "a")])
        response.usage.input_tokens = 2_000 + round(number * 2 * estimate_text(text))
        return [response, result(text)]

    messages = [ModelRequest(parts=[UserPromptPart("go")]), *(each for number in range(12) for each in turn(number))]
    measure = Measure()
    measure.resumed(messages, 0)
    assert measure.estimator.factor == pytest.approx(2.0, rel=0.1)
    assert 1_900 < measure.fixed.count < 2_000
    measure.carries(1_950)
    assert 1_900 < measure.fixed.count < 2_000


def test_instructions_that_grow_move_the_fixed_part() -> None:
    measure = Measure()
    measure.carries(1_000)
    response = ModelResponse(parts=[TextPart("hello")])
    response.usage.input_tokens = 1_500
    measure.responded([ModelRequest(parts=[UserPromptPart("hi")]), response], 0)
    learned = measure.fixed.count
    assert 1_450 < learned < 1_500
    measure.carries(4_000)
    assert measure.fixed.count == pytest.approx(learned + 3_000, abs=5)
