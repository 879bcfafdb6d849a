"""Making room early pays for itself as soon as carrying what could go has cost as much (ADR 10)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart

from agent_ls.compaction.boundary import recent_tail
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.micro import microcompact
from agent_ls.compaction.occupancy import Budgets
from agent_ls.compaction.payback import CACHED, NO_OFFER, Offer, Offers, Payback
from tests.compaction.histories import histories

BUDGETS = Budgets.of(40_000, 3_000, keep_recent=20_000, keep_user=8_000)
OFFER = Offer(freed=10_000, price=5_500)
NEEDED = math.ceil(OFFER.price / (OFFER.freed * CACHED))


def reads(rounds: int) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    for number in range(rounds):
        messages.append(ModelResponse(parts=[ToolCallPart("read_file", {"path": f"{number}.py"}, f"c{number}")]))
        messages.append(ModelRequest(parts=[ToolReturnPart("read_file", "value = 1\n" * 100, f"c{number}")]))
    return messages


@pytest.mark.parametrize("tier", ["micro", "full"])
def test_a_tier_has_paid_when_carrying_has_cost_its_price(tier: str) -> None:
    payback = Payback()
    offers = Offers(OFFER, NO_OFFER) if tier == "micro" else Offers(NO_OFFER, OFFER)
    assert [payback.carried(offers) for _ in range(NEEDED)] == [None] * (NEEDED - 1) + [tier]


def test_the_more_thorough_tier_comes_first() -> None:
    payback = Payback()
    for _ in range(NEEDED - 1):
        payback.carried(Offers(OFFER, OFFER))
    assert payback.carried(Offers(OFFER, OFFER)) == "full"


def test_blanking_begins_its_own_account_anew_and_a_summary_both() -> None:
    payback = Payback()
    for _ in range(NEEDED):
        payback.carried(Offers(OFFER, OFFER))
    payback.begins_anew("micro")
    assert payback.carried(Offers(OFFER, NO_OFFER)) is None
    assert payback.carried(Offers(NO_OFFER, OFFER)) == "full"
    payback.begins_anew("full")
    assert payback.carried(Offers(OFFER, OFFER)) is None


def test_what_frees_nothing_never_pays() -> None:
    payback = Payback()
    assert {payback.carried(Offers(NO_OFFER, NO_OFFER)) for _ in range(50)} == {None}


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=60), st.floats(100, 20_000))
def test_it_never_costs_more_than_twice_what_one_who_knows_the_future_would_pay(grows: list[int], price: float) -> None:
    """However long the turn goes on: carried for as long as it did, and then bought, against the cheaper of the two."""
    payback, freed, carried, bought = Payback(), 0, 0.0, False
    for growth in grows:
        freed += growth
        carried += freed * CACHED
        if payback.carried(Offers(Offer(freed, price), NO_OFFER)) == "micro":
            bought = True
            break
    least = min(carried, price)
    spent = carried + (price if bought else 0)
    # The last request carries it once more before it is taken out.
    assert spent <= 2 * least + freed * CACHED


@given(histories())
def test_an_offer_to_blank_is_what_a_pass_would_free(messages: list[ModelMessage]) -> None:
    estimator = Estimator()
    offer = Offers.of(messages, BUDGETS, estimator, None).micro
    assert offer.freed == microcompact(messages, recent_tail(messages, BUDGETS.tail, estimator), estimator).tokens_freed
    assert offer.price >= 0


def test_blanking_costs_what_follows_the_first_blanked_result() -> None:
    estimator = Estimator()
    talk: list[ModelMessage] = [ModelResponse(parts=[TextPart("it computes values " * 500)])]
    plain, after_talk = (Offers.of(each, BUDGETS, estimator, None).micro for each in (reads(40), talk + reads(40)))
    assert plain.price == pytest.approx(after_talk.price)
    followed = Offers.of([*reads(40)[:20], *talk, *reads(40)[20:]], BUDGETS, estimator, None).micro
    assert followed.price > plain.price + estimator.messages(talk)


def test_there_is_no_offer_where_there_is_nothing_to_take_out() -> None:
    assert Offers.of(reads(3), BUDGETS, Estimator(), None) == Offers(NO_OFFER, NO_OFFER)


def test_a_summary_costs_a_call_and_all_that_is_written_anew() -> None:
    estimator = Estimator()
    offers = Offers.of(reads(60), BUDGETS, estimator, None)
    assert offers.full.freed > 0
    assert offers.full.price > offers.micro.price
