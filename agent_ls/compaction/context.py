"""What fills the window, by kind; the parts sum to the gauge's number exactly (PROTOCOL "agent/context", FAULTS 13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)

from agent_ls.compaction.boundary import answers_a_call
from agent_ls.compaction.estimate import Estimator
from agent_ls.protocol import ContextCategory, ContextCategoryId
from agent_ls.tokens import Tokens

LABELS: Final[Mapping[ContextCategoryId, str]] = {
    "instructions": "Instructions",
    "tools": "Tool definitions",
    "memory": "Memory",
    "summary": "Summary of earlier work",
    "user": "Your messages",
    "assistant": "Answers",
    "thinking": "Thinking",
    "toolCalls": "Tool calls",
    "toolResults": "Tool results",
}

_ADVICE_SHARE: Final = 0.4


def breakdown(
    messages: Sequence[ModelMessage],
    fixed: Mapping[ContextCategoryId, int],
    total: Tokens,
    estimator: Estimator,
    is_summary: Callable[[ModelMessage], bool],
) -> list[ContextCategory]:
    """Every category's share of `total`, in the order of LABELS. `fixed` is the estimate of what is no message.

    Estimates tell the proportions, the total is what the gauge says: shares are scaled to it, and what rounding leaves
    goes to the largest remainders.
    """
    weights = dict.fromkeys(LABELS, 0)
    weights.update(fixed)
    for message in messages:
        if is_summary(message):
            weights["summary"] += estimator.message(message)
            continue
        for part in message.parts:
            weights[_category(part)] += estimator.message(_alone(message, part))
    counts = _scaled(weights, total.count)
    return [ContextCategory(name, LABELS[name], Tokens(counts[name], total.basis)) for name in LABELS]


def advice(categories: Sequence[ContextCategory], window: int) -> list[str]:
    """What a person can do about the largest shares."""
    said = []
    for category in categories:
        if category.tokens.count < _ADVICE_SHARE * window:
            continue
        match category.id:
            case "instructions" | "memory":
                said.append(f"{category.label} take {category.tokens.count:,} tokens of every request: shorten them.")
            case "toolResults":
                said.append("Tool results take the most room: they are blanked at the micro level, or /compact now.")
            case "tools":
                said.append("Tool definitions take much of this small window: a larger model leaves more room.")
            case _:
                continue
    return said


def _category(part: object) -> ContextCategoryId:
    match part:
        case UserPromptPart():
            return "user"
        case TextPart():
            return "assistant"
        case ThinkingPart():
            return "thinking"
        case ToolCallPart():
            return "toolCalls"
        case _ if answers_a_call(part):
            return "toolResults"
        case _:
            return "assistant" if not hasattr(part, "timestamp") else "user"


def _alone(message: ModelMessage, part: object) -> ModelMessage:
    parts = [part]
    if isinstance(message, ModelRequest):
        return replace(message, parts=parts)  # type: ignore[arg-type]  # the message's own part
    return replace(message, parts=parts)  # type: ignore[arg-type]


def _scaled(weights: Mapping[ContextCategoryId, int], total: int) -> dict[ContextCategoryId, int]:
    whole = sum(weights.values())
    if whole == 0:
        return {name: total if name == "instructions" else 0 for name in weights}
    counts = {name: weight * total // whole for name, weight in weights.items()}
    left = total - sum(counts.values())
    by_remainder = sorted(weights, key=lambda name: weights[name] * total % whole, reverse=True)
    for name in by_remainder[:left]:
        counts[name] += 1
    return counts
