"""What the summariser reads: the conversation as fenced text that always fits its window (CASCADE §11)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from attrs import evolve, frozen
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.compaction.carried import text_of
from agent_ls.compaction.estimate import estimate_text

Kind = Literal["result", "arguments", "assistant", "user"]

OPEN: Final = "<conversation>"
CLOSE: Final = "</conversation>"
_SHORTENED_FIRST: Final[tuple[Kind, ...]] = ("result", "arguments", "assistant", "user")
_CAPS: Final = (8_000, 3_000, 1_200, 500, 200, 80)
_NEWEST_UNTOUCHED: Final = 6


@frozen
class Line:
    """One thing that was said or done."""

    kind: Kind
    speaker: str
    text: str

    def render(self) -> str:
        """As the summariser reads it: no line of it can close the fence."""
        return f"[{self.speaker}]\n{_escaped(self.text)}"


def lines_of(messages: Sequence[ModelMessage], parts_of: Callable[[ModelMessage], Sequence[Any]]) -> list[Line]:
    """The conversation's lines. Thinking is left out: it is the model's own and often the longest."""
    return [line for message in messages for part in parts_of(message) if (line := _line(message, part)) is not None]


def _line(message: ModelMessage, part: Any) -> Line | None:
    match part:
        case UserPromptPart(content=content):
            return Line("user", "user", text_of(content))
        case TextPart(content=text) if text and isinstance(message, ModelResponse):
            return Line("assistant", "assistant", text)
        case ToolCallPart():
            arguments = (
                part.args if isinstance(part.args, str) else json.dumps(part.args, ensure_ascii=False, default=str)
            )
            return Line("arguments", f"assistant calls {part.tool_name}", arguments)
        case ToolReturnPart():
            return Line("result", f"result of {part.tool_name} ({part.outcome})", part.model_response_str())
        case _:
            return None


def pieces(lines: Sequence[Line], budget: float) -> list[str]:
    """The lines as texts of at most `budget` uncalibrated tokens each: one if it can be made to fit.

    Shortened in this order: old tool results (head and tail kept), tool arguments, assistant text; user text last.
    """
    shortened = list(lines)
    for kind in _SHORTENED_FIRST:
        for cap in _CAPS:
            if _tokens(shortened) <= budget:
                return [_fenced(shortened)]
            shortened = _capped(shortened, kind, cap)
        if kind == "assistant" and _tokens(shortened) > budget * 2:
            break
    if _tokens(shortened) <= budget:
        return [_fenced(shortened)]
    return [_fenced(group) for group in _groups(shortened, budget)]


def _capped(lines: Sequence[Line], kind: Kind, cap: int) -> list[Line]:
    recent = len(lines) - _NEWEST_UNTOUCHED if cap > _CAPS[-3] else len(lines)
    return [
        evolve(line, text=_clipped(line.text, cap)) if line.kind == kind and index < recent else line
        for index, line in enumerate(lines)
    ]


def _clipped(text: str, cap: int) -> str:
    if len(text) <= cap:
        return text
    head, tail = cap // 2, cap - cap // 2
    return f"{text[:head]}\n[… {len(text) - cap} characters …]\n{text[-tail:]}"


def _groups(lines: Sequence[Line], budget: float) -> list[list[Line]]:
    groups: list[list[Line]] = [[]]
    room = budget
    for line in lines:
        if estimate_text(line.render()) > budget:
            line = evolve(line, text=_clipped(line.text, max(int(budget), 40)))
        cost = estimate_text(line.render()) + 2
        if cost > room and groups[-1]:
            groups.append([])
            room = budget
        groups[-1].append(line)
        room -= cost
    return groups


def _tokens(lines: Sequence[Line]) -> float:
    return sum(estimate_text(line.render()) + 2 for line in lines)


def _fenced(lines: Sequence[Line]) -> str:
    return "\n\n".join((OPEN, *(line.render() for line in lines), CLOSE))


def _escaped(text: str) -> str:
    """Text that cannot end the fence or look like one of its labels or headings."""
    escaped = text.replace(CLOSE, "<\\/conversation>").replace(OPEN, "<\\conversation>")
    return "\n".join(f"\\{line}" if line.startswith(("#", "[")) else line for line in escaped.split("\n"))
