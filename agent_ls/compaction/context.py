"""What fills the window, by kind; the parts sum to the gauge's number exactly (PROTOCOL "agent/context", FAULTS 13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pydantic_ai.messages import (
    CompactionPart,
    InstructionBaselinePart,
    InstructionDeltaPart,
    ModelMessage,
    ModelRequest,
    NativeToolCallPart,
    NativeToolReturnPart,
    SystemPromptPart,
    ThinkingPart,
    ToolAvailabilityDeltaPart,
    ToolCallPart,
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
    goes to the largest remainders. So each share is estimated, also of a measured total.
    """
    weights = dict.fromkeys(LABELS, 0.0)
    weights.update(fixed)
    for message in messages:
        summary_parts = 1 if is_summary(message) else 0
        for at, (part, weight) in enumerate(zip(message.parts, estimator.parts(message), strict=True)):
            weights["summary" if at < summary_parts else category_of(message, part)] += weight.times(estimator.factor)
    counts = _scaled({name: round(tokens) for name, tokens in weights.items()}, total.count)
    return [ContextCategory(name, LABELS[name], Tokens.estimated(counts[name])) for name in LABELS]


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


def category_of(message: ModelMessage, part: object) -> ContextCategoryId:
    """The kind that a part of a message counts as; a checkpoint's summary text is the caller's to tell."""
    match part:
        case ThinkingPart():
            return "thinking"
        case ToolCallPart() | NativeToolCallPart():
            return "toolCalls"
        case NativeToolReturnPart():
            return "toolResults"
        case CompactionPart():
            return "summary"
        case SystemPromptPart() | InstructionBaselinePart() | InstructionDeltaPart():
            return "instructions"
        case ToolAvailabilityDeltaPart():
            return "tools"
        case _ if answers_a_call(part):
            return "toolResults"
        case _:
            return "user" if isinstance(message, ModelRequest) else "assistant"


def _scaled(weights: Mapping[ContextCategoryId, int], total: int) -> dict[ContextCategoryId, int]:
    """Whole numbers in proportion to the weights that sum to the total exactly."""
    whole = sum(weights.values())
    if whole == 0:
        return {name: total if name == "instructions" else 0 for name in weights}
    counts = {name: weight * total // whole for name, weight in weights.items()}
    left = total - sum(counts.values())
    by_remainder = sorted(weights, key=lambda name: weights[name] * total % whole, reverse=True)
    for name in by_remainder[:left]:
        counts[name] += 1
    return counts
