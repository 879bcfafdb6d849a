"""What of a window one round may take: the model's answer, and the results of its calls together (CASCADE §9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice
from typing import Final

from pydantic_ai.messages import ModelMessage

from agent_ls.compaction.boundary import answers_a_call
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.occupancy import Budgets, Levels
from agent_ls.compaction.summary import own_parts
from agent_ls.tokens import Tokens

_SURE_SHARE: Final = Fraction(3, 4)
"""Of what a request leaves of the window: its size is an estimate."""


def room_for_answer(projected: Tokens, levels: Levels) -> int:
    """Tokens of the window that are surely left for the answer to a request of that size."""
    return max(int((levels.window - projected.count) * _SURE_SHARE), 0)


def room_for_results(
    messages: Sequence[ModelMessage], turn_start: int, levels: Levels, budgets: Budgets, estimator: Estimator
) -> int:
    """Tokens that keep the next request under the full level once everything that can be freed is freed.

    What cannot: the fixed part, the turn's prompt, the response whose calls run now (the last of `messages`), and what
    a full compaction puts in the place of all else. Where these reach the level, half of what is left of the window.
    """
    if not messages:
        return levels.full
    most = budgets.summary + budgets.user_words
    prompt, record = prompt_and_record(messages[turn_start], estimator)
    before = record + _weight(islice(messages, turn_start), most, estimator)
    between = _weight(islice(messages, turn_start + 1, len(messages) - 1), budgets.summary, estimator)
    kept = prompt + estimator.message(messages[-1]) + min(before + between, most)
    taken = levels.window - budgets.usable + kept
    return max(levels.full - taken, (levels.window - taken) // 2, 0)


def _weight(messages: Iterable[ModelMessage], most: int, estimator: Estimator) -> int:
    """Their tokens, counted no further than to `most`."""
    weight = 0
    for message in messages:
        weight += estimator.message(message)
        if weight >= most:
            return most
    return weight


def prompt_and_record(message: ModelMessage, estimator: Estimator) -> tuple[int, int]:
    """The tokens of a turn's prompt, and of the summary it may stand behind; results beside it are neither."""
    own = own_parts(message)
    weights = estimator.parts(message)
    first = len(weights) - len(own)
    prompt = [weight for part, weight in zip(own, weights[first:], strict=True) if not answers_a_call(part)]
    factor = estimator.factor
    return round(sum(each.times(factor) for each in prompt)), round(sum(each.times(factor) for each in weights[:first]))
