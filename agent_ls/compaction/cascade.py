"""When a tier fires, and when it must not (CASCADE §3, §9, §11, §13). Pure decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal

from attrs import define, field
from pydantic_ai.messages import ModelMessage

from agent_ls.compaction.boundary import Boundary, cut_before, newest_round, recent_tail
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.occupancy import Levels
from agent_ls.compaction.summary import is_summary
from agent_ls.protocol import Tier

MUST_SHRINK: Final = Fraction(90, 100)
_FAILURES_BEFORE_PAUSE: Final = 3
_GROWTH_AFTER_PAUSE: Final = Fraction(10, 100)


def tier_at_turn_end(occupancy: int, levels: Levels) -> Tier | None:
    """The tier that fires at the end of a turn; none for an unknown occupancy (0)."""
    if occupancy <= 0:
        return None
    if occupancy >= levels.full:
        return "full"
    return "micro" if occupancy >= levels.micro else None


def is_quiet(freed: int, window: int, min_reclaim_fraction: float) -> bool:
    """Whether an automatic pass would free too little to break the prompt cache for (CASCADE §13)."""
    return freed < window * min_reclaim_fraction


def shrinks(before: int, after: int) -> bool:
    """Whether a compaction is worth writing: both are estimates of the history without the fixed part."""
    return after <= before * MUST_SHRINK


def full_boundary(
    messages: Sequence[ModelMessage], keep: int, most: int, estimator: Estimator, turn_start: int | None = None
) -> Boundary:
    """Where a full compaction cuts: the tail keeps what the model has not answered yet.

    In a running turn that begins at `turn_start`, what an earlier turn left unanswered is not protected; outside one,
    only up to `most` tokens. Otherwise a round too large to be sent would make every later request too large as well.
    """
    boundary = recent_tail(messages, keep, estimator)
    unanswered = newest_round(messages)
    if turn_start is not None:
        unanswered = max(unanswered, turn_start)
    elif estimator.messages(messages[unanswered:]) > most:
        return boundary
    return boundary if boundary.index <= unanswered else cut_before(messages, unanswered)


def has_something_to_summarize(messages: Sequence[ModelMessage], boundary: Boundary, turn_start: int | None) -> bool:
    """Whether what is before the boundary is more than a previous summary and the running turn's own prompt."""
    return any(
        index != turn_start and not is_summary(message) for index, message in enumerate(messages[: boundary.index])
    )


BreakerState = Literal["closed", "open"]


@define
class Breaker:
    """Stops automatic full compaction after three failures in a row (CASCADE §11)."""

    failures: int = field(init=False, default=0)
    _size_at_pause: int = field(init=False, default=0)

    def state(self, size: int, window: int) -> BreakerState:
        """`open` while paused: until the history has grown by 10 % of the window, in tokens."""
        if self.failures < _FAILURES_BEFORE_PAUSE:
            return "closed"
        if size >= self._size_at_pause + math.ceil(window * _GROWTH_AFTER_PAUSE):
            self.failures = _FAILURES_BEFORE_PAUSE - 1  # one more try, also if room is made before it
            return "closed"
        return "open"

    def failed(self, size: int) -> None:
        """An automatic compaction failed at this size of the history, in tokens."""
        self.failures += 1
        self._size_at_pause = size

    def rejected(self, size: int) -> None:
        """One saved too little: trying again on the same history would save as little (FAULTS 4)."""
        self.failures = _FAILURES_BEFORE_PAUSE
        self._size_at_pause = size

    def shrunk(self, size: int) -> None:
        """Room was made without a model: a pause goes on from this size of the history, in tokens."""
        self._size_at_pause = size

    def reset(self) -> None:
        """One succeeded, or a person ran it."""
        self.failures = 0
