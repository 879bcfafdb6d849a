from decimal import ROUND_FLOOR, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.usage import RequestUsage

from agent_ls.compaction.occupancy import Budgets, Levels, Measure, last_input_tokens, level
from agent_ls.tokens import NOTHING, Tokens
from tests.compaction.histories import histories


def answer(tokens: int, *, cached: int = 0, output: int = 10) -> ModelResponse:
    usage = RequestUsage(input_tokens=tokens, output_tokens=output, cache_read_tokens=cached)
    return ModelResponse(parts=[TextPart("ok")], usage=usage)


def ask(text: str = "go") -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


@pytest.mark.parametrize(
    ("window", "reserve", "expected"),
    [(1_048_576, 0.20, 838_860), (1_048_576, 0.40, 629_145), (10, 0.9, 1), (100, 0.29, 71), (1000, 0.1, 900)],
)
def test_levels_are_exact(window: int, reserve: float, expected: int) -> None:
    assert level(window, reserve) == expected


@given(st.integers(1, 10**9), st.integers(1, 999))
def test_levels_are_the_floor_of_the_decimal(window: int, thousandths: int) -> None:
    reserve = thousandths / 1000
    exact = Decimal(window) * (1 - Decimal(thousandths) / 1000)
    assert level(window, reserve) == int(exact.to_integral_value(ROUND_FLOOR))


@pytest.mark.parametrize(
    ("window", "micro", "full"), [(0, 0.4, 0.2), (100, 0.2, 0.4), (100, 0.2, 0.2), (100, 1, 0.2), (100, 0.4, 0)]
)
def test_levels_that_break_a_rule_cannot_be_made(window: int, micro: float, full: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        Levels.of(window, micro_reserve=micro, full_reserve=full)


def test_fault_07_cached_tokens_are_counted_once() -> None:
    assert last_input_tokens([ask(), answer(100, cached=95)]) == 100


def test_fault_08_the_last_response_counts_not_the_sum() -> None:
    messages: list[ModelMessage] = []
    for _ in range(12):
        messages += [ask(), answer(150_000)]
    assert last_input_tokens(messages) == 150_000


def test_fault_09_usage_from_before_the_checkpoint_is_ignored() -> None:
    tail: list[ModelMessage] = [answer(170_000), ask()]
    assert last_input_tokens([ask("summary"), *tail], first=3) == 0
    assert last_input_tokens([ask("summary"), *tail, answer(20_000)], first=3) == 20_000


def test_fault_11_a_response_without_usage_leaves_the_occupancy() -> None:
    messages: list[ModelMessage] = [ask(), answer(500), ask(), ModelResponse(parts=[TextPart("x")])]
    assert last_input_tokens(messages) == 500


def test_a_response_that_bills_several_requests_carries_its_context_size() -> None:
    response = answer(900_000)
    response.metadata = {"__pydantic_ai__": {"context_input_tokens": 45_000}}
    assert last_input_tokens([ask(), response]) == 45_000


def test_fault_12_after_a_compaction_the_estimate_shows_at_once_and_is_marked() -> None:
    measure = Measure()
    messages: list[ModelMessage] = [ask("long " * 2_000), answer(50_000)]
    assert measure.used(messages, 0) == Tokens.measured(50_000)
    measure.replaced()
    after: list[ModelMessage] = [ask("summary of it"), answer(50_000)]
    used = measure.used(after, 2)
    assert used.basis == "estimated"
    assert 0 < used.count < 5_000


def test_fault_10_what_came_after_the_last_usage_is_projected() -> None:
    measure = Measure()
    messages: list[ModelMessage] = [ask(), answer(7_900), ask("word " * 1_000)]
    assert measure.projected(messages, 0).count > 7_900 + 900


@given(histories())
def test_the_projection_is_never_below_what_was_measured(messages: list[ModelMessage]) -> None:
    measure = Measure()
    assert measure.projected(messages, 0).count >= last_input_tokens(messages)


def test_the_fixed_part_is_learned_from_the_first_response() -> None:
    measure = Measure()
    messages: list[ModelMessage] = [ask("hello there"), answer(4_000)]
    measure.responded(messages, 0)
    assert measure.fixed.is_measured
    assert 3_900 < measure.fixed.count < 4_000


def test_an_empty_session_uses_nothing() -> None:
    assert Measure().used([], 0) == NOTHING


@given(st.integers(1, 2_000_000), st.integers(0, 3_000_000))
def test_budgets_fit_together_in_any_window(window: int, fixed: int) -> None:
    budgets = Budgets.of(window, fixed, keep_recent=20_000, keep_user=8_000)
    assert budgets.tail + budgets.summary + budgets.user_words <= budgets.usable * 0.55
    assert budgets.summary <= 8_000


@pytest.mark.parametrize(("micro", "full"), [(900, 800), (-1, 800), (600, 1_000), (600, 1_200)])
def test_levels_out_of_order_cannot_be_made(micro: int, full: int) -> None:
    with pytest.raises(ValueError, match="levels"):
        Levels(1_000, micro, full)


def test_the_projection_counts_the_answer_that_will_be_sent_back() -> None:
    assert Measure().projected([ask(), answer(1_000, output=400)], 0) == Tokens.estimated(1_400)


def test_what_was_blanked_since_the_count_is_taken_off_and_marked() -> None:
    measure = Measure()
    messages: list[ModelMessage] = [ask(), answer(1_000, output=100)]
    measure.blanked(200)
    measure.blanked(150)
    assert measure.used(messages, 0) == Tokens.estimated(650)
    assert measure.projected(messages, 0) == Tokens.estimated(750)
    messages += [ask(), answer(700)]
    measure.responded(messages, 0)
    assert measure.used(messages, 0) == Tokens.measured(700)


@pytest.mark.parametrize("blanked", [False, True])
def test_after_an_undo_the_old_count_holds_unless_something_was_ever_blanked(blanked: bool) -> None:
    measure = Measure()
    messages: list[ModelMessage] = [ask("strawberry " * 3_000), answer(1_000)]
    if blanked:
        measure.blanked(2_000)
    measure.replaced()
    measure.restored()
    assert (measure.used(messages, 0) == Tokens.measured(1_000)) is not blanked


def test_growth_across_a_blanking_teaches_nothing() -> None:
    measure = Measure()
    messages: list[ModelMessage] = [ask("a line of words to count here\n" * 100), answer(1_000)]
    measure.responded(messages, 0)
    before = measure.estimator.factor
    measure.blanked(10)
    messages += [ask("another line of words to count\n" * 100), answer(1_000 + 1_400)]
    measure.responded(messages, 0)
    assert measure.estimator.factor == before


def test_the_fixed_part_is_learned_once_where_it_is_known_best() -> None:
    measure = Measure()
    first: list[ModelMessage] = [ask("hello"), answer(4_000)]
    measure.responded(first, 0)
    learned = measure.fixed
    compacted: list[ModelMessage] = [ask("a summary " * 300), answer(9_000), ask("go on"), answer(6_000)]
    measure.replaced()
    measure.responded(compacted, 2)
    assert measure.fixed == learned


def test_counts_on_two_sides_of_a_checkpoint_are_not_compared() -> None:
    text = "some lines that stand between them\n" * 200
    messages: list[ModelMessage] = [
        ask("summary"),
        answer(90_000),
        ask(text),
        answer(92_000),
        ask(text),
        answer(93_400),
    ]
    across = Measure()
    across.resumed(messages, 4)
    within = Measure()
    within.resumed(messages[:4], 0)
    assert across.estimator.factor == within.estimator.factor


def test_what_was_blanked_between_two_counts_of_a_log_does_not_make_the_rest_look_small() -> None:
    text = "some lines that stand between them\n" * 400
    weight = Measure().estimator.messages([ask(text)])
    counts = [2_000, 2_000 + weight, 2_000 + weight + weight // 2]  # of the last, half as much was blanked before it
    messages: list[ModelMessage] = []
    for counted in counts:
        messages += [ask(text), answer(counted)]
    measure = Measure()
    measure.resumed(messages, 0)
    assert measure.estimator.messages([ask(text)]) > weight * 0.95


def test_a_count_that_is_not_believed_after_a_resume_teaches_nothing() -> None:
    text = "some lines that stand between them\n" * 400
    weight = Measure().estimator.messages([ask(text)])
    # In full it is four times `text`, of which the newest count holds one: the rest was blanked.
    messages: list[ModelMessage] = [ask("hello"), answer(1_000), *[ask(text)] * 4, answer(1_000 + weight), ask("and?")]
    measure = Measure()
    measure.resumed(messages, 0)
    believed = measure.estimator.factor
    messages.append(answer(1_000 + 4 * weight))
    measure.responded(messages, 0)
    assert measure.estimator.factor == believed


def test_what_is_blanked_after_a_resume_is_not_taken_off_a_count_that_never_held_it() -> None:
    text = "some lines that stand between them\n" * 200
    counted_blanked: list[ModelMessage] = [ask("hello"), answer(1_000), ask(text), answer(2_900), ask("and?")]
    measure = Measure()
    measure.resumed(counted_blanked, 0)
    blanked: list[ModelMessage] = [ask("hello"), answer(1_000), ask("[elided]"), answer(2_900), ask("and?")]
    measure.blanked(measure.estimator.messages(counted_blanked) - measure.estimator.messages(blanked))
    measure.blanked(2_900)
    assert measure.used(blanked, 0).count >= measure.fixed.count > 0
    assert measure.projected(blanked, 0).count >= measure.fixed.count


def test_what_is_fixed_is_known_after_a_resume_though_a_compaction_was_undone_last() -> None:
    messages: list[ModelMessage] = [ask("hello"), answer(4_000), ask("some lines\n" * 200), answer(4_800), ask("and?")]
    undone = Measure()
    undone.resumed(messages, len(messages))
    assert 3_900 < undone.fixed.count < 4_000
    assert undone.used(messages, len(messages)).count > 4_500
