"""When making room before the window is full pays for itself (ADR 10).

Every request carries the whole history again. What the provider has cached costs a tenth, so what could be taken out
costs a little each time; taking it out costs once, as all that follows it is written to the cache anew. Nobody knows
how long a turn goes on, so it is the question of renting or buying: take it out as soon as carrying it has cost as much
as taking it out would. That never costs more than twice what one who knows the future would pay.

All prices are in tokens of input that is not cached, as providers with a prompt cache ask them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import define, field, frozen
from pydantic_ai.messages import ModelMessage

from agent_ls.compaction.boundary import recent_tail
from agent_ls.compaction.cascade import full_boundary, has_something_to_summarize
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.micro import microcompact
from agent_ls.compaction.occupancy import Budgets
from agent_ls.protocol import Tier

CACHED: Final = 0.1
CACHE_WRITE: Final = 1.25
INPUT: Final = 1.0
OUTPUT: Final = 5.0
COUNTED_FROM: Final = 0.5
"""Of the micro level: below that there is little to take out, and looking takes milliseconds in a large history."""
_TYPICAL_QUESTION: Final = 0.6
"""Of what it tells of: results are shortened in it, and thinking is left out."""
_TYPICAL_SUMMARY: Final = 0.33
"""Of its budget."""


@frozen
class Offer:
    """What a tier would do now: `freed` tokens that no later request carries, for a `price` paid once."""

    freed: int
    price: float


NO_OFFER: Final = Offer(0, 0.0)


@frozen
class Offers:
    """What each tier would do with one history."""

    micro: Offer
    full: Offer

    @classmethod
    def of(
        cls, messages: Sequence[ModelMessage], budgets: Budgets, estimator: Estimator, turn_start: int | None
    ) -> Offers:
        """Of this history, inside a turn that begins at `turn_start`."""
        return cls(
            _micro_offer(messages, budgets, estimator),
            _full_offer(messages, budgets, estimator, turn_start),
        )


@define
class Payback:
    """What carrying text that a tier could take out has cost since that tier ran last."""

    _micro: float = field(init=False, default=0.0)
    _full: float = field(init=False, default=0.0)

    def carried(self, offers: Offers) -> Tier | None:
        """One more request carries it; the tier that has paid for itself by now, the more thorough one first."""
        self._micro += offers.micro.freed * CACHED
        self._full += offers.full.freed * CACHED
        if offers.full.freed and self._full >= offers.full.price:
            return "full"
        return "micro" if offers.micro.freed and self._micro >= offers.micro.price else None

    def begins_anew(self, tier: Tier) -> None:
        """A tier ran, or was tried: it has to pay for itself again. After a full compaction both do."""
        self._micro = 0.0
        if tier == "full":
            self._full = 0.0


def _micro_offer(messages: Sequence[ModelMessage], budgets: Budgets, estimator: Estimator) -> Offer:
    result = microcompact(messages, recent_tail(messages, budgets.tail, estimator), estimator)
    if not result.parts_elided:
        return NO_OFFER
    written_anew = estimator.messages(result.messages[result.first_elided :])
    return Offer(result.tokens_freed, written_anew * (CACHE_WRITE - CACHED))


def _full_offer(
    messages: Sequence[ModelMessage], budgets: Budgets, estimator: Estimator, turn_start: int | None
) -> Offer:
    boundary = full_boundary(messages, budgets.tail, budgets.usable // 2, estimator, turn_start)
    if not has_something_to_summarize(messages, boundary, turn_start):
        return NO_OFFER
    older = estimator.messages(messages[: boundary.index])
    kept = budgets.summary + estimator.messages(messages[boundary.index :])
    call = older * _TYPICAL_QUESTION * INPUT + budgets.summary * _TYPICAL_SUMMARY * OUTPUT
    return Offer(max(older - budgets.summary, 0), call + kept * (CACHE_WRITE - CACHED))
