"""What of a window one round may take: the model's answer, and the results of its calls together (CASCADE §9)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
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
    before = estimator.messages(messages[:turn_start])
    between = estimator.messages(messages[turn_start + 1 : -1])
    kept = _prompt(messages[turn_start], estimator) + estimator.message(messages[-1])
    compacted = min(budgets.summary, before + between) + min(budgets.user_words, before)
    taken = levels.window - budgets.usable + kept + compacted
    return max(levels.full - taken, (levels.window - taken) // 2, 0)


def _prompt(message: ModelMessage, estimator: Estimator) -> int:
    """The prompt's own tokens, where it stands beside a summary or results of an earlier round."""
    weights = estimator.parts(message)[len(message.parts) - len(own_parts(message)) :]
    prompt = [
        weight.times(estimator.factor)
        for part, weight in zip(own_parts(message), weights, strict=True)
        if not answers_a_call(part)
    ]
    return round(sum(prompt))
