"""What the summariser reads: the conversation as fenced text that always fits its window (CASCADE §11)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, Final, Literal

from attrs import evolve, frozen
from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    BinaryContent,
    FilePart,
    ModelMessage,
    ModelResponse,
    RetryFeedbackPart,
    TextPart,
    UserPromptPart,
)

from agent_ls.compaction.boundary import is_legacy_retry
from agent_ls.compaction.carried import text_of
from agent_ls.compaction.estimate import estimate_text

Kind = Literal["result", "arguments", "assistant", "user"]

OPEN: Final = "<conversation>"
CLOSE: Final = "</conversation>"
_SHORTENED_FIRST: Final[tuple[Kind, ...]] = ("result", "arguments", "assistant", "user")
_MOST_OF_A_RESULT: Final = 600
"""Characters of an old tool result, head and tail: the log has the rest, and every one is paid for (ADR 10)."""
_CAPS: Final = (8_000, 3_000, 1_200, 500, 200, 80)
"""Characters that a line of a kind keeps, tried one after the other."""
_LEAST_USER_CAP: Final = 500
"""Below this a user's words say little: rather in pieces."""
_NEWEST_UNTOUCHED: Final = 6
_FRAME_TOKENS: Final = 2
_MARKUP: Final = re.compile(r"<(?=\s*/?\s*(?:conversation|record|user_words)\b)", re.IGNORECASE)
_LOOKS_LIKE_A_FRAME: Final = ("#", "[")


@frozen(slots=False)
class Line:
    """One thing that was said or done."""

    kind: Kind
    speaker: str
    text: str

    @cached_property
    def tokens(self) -> float:
        """Uncalibrated tokens of the rendered line."""
        return estimate_text(self.render()) + _FRAME_TOKENS

    def render(self) -> str:
        """As the summariser reads it: no line of it can close the fence."""
        return f"[{self.speaker}]\n{escaped(self.text)}"


def lines_of(messages: Sequence[ModelMessage], parts_of: Callable[[ModelMessage], Sequence[Any]]) -> list[Line]:
    """The conversation's lines. Thinking is left out: it is the model's own and often the longest."""
    return [line for message in messages for part in parts_of(message) if (line := _line(message, part)) is not None]


def escaped(text: str) -> str:
    """Text that cannot end a fence or look like one of its labels or headings."""
    marked = _MARKUP.sub(r"<\\", text)
    return "\n".join(
        f"\\{line}" if line.lstrip().startswith(_LOOKS_LIKE_A_FRAME) else line
        for line in re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", marked)
    )


def pieces(lines: Sequence[Line], budget: float) -> list[str]:
    """The lines as texts of at most `budget` uncalibrated tokens each: one if it can be made to fit.

    Shortened in this order: old tool results (head and tail kept), tool arguments, assistant text; user text last.
    """
    shortened = _capped(lines, "result", _MOST_OF_A_RESULT)
    room = budget - estimate_text(f"{OPEN}{CLOSE}") - 2 * _FRAME_TOKENS
    for kind in _SHORTENED_FIRST:
        for cap in _CAPS:
            if kind == "user" and cap < _LEAST_USER_CAP:
                break
            if _tokens(shortened) <= room:
                return [_fenced(shortened)]
            shortened = _capped(shortened, kind, cap)
    return [_fenced(group) for group in _groups(shortened, room)]


def _line(message: ModelMessage, part: Any) -> Line | None:
    match part:
        case UserPromptPart(content=content):
            return Line("user", "user", text_of(content))
        case TextPart(content=text) if text and isinstance(message, ModelResponse):
            return Line("assistant", "assistant", text)
        case BaseToolCallPart():
            return Line("arguments", f"assistant calls {_name(part)}", _spelled(part.args))
        case BaseToolReturnPart():
            return Line("result", f"result of {_name(part)} ({part.outcome})", _spelled(part.content))
        case RetryFeedbackPart():
            return Line("result", "asked to try again", _spelled(part.content))
        case FilePart():
            return Line("assistant", "assistant", _spelled(part.content))
        case _ if is_legacy_retry(part):
            return Line("result", f"result of {_name(part)} (retried)", _spelled(part.content))
        case _:
            return None


def _name(part: Any) -> str:
    """A tool's name as a label: what a model made up cannot break the label's line."""
    return re.sub(r"[^\w.:-]", "_", str(part.tool_name))[:80]


def _spelled(value: Any) -> str:
    """A value as text; pictures and other bytes are named by their kind."""
    match value:
        case None:
            return ""
        case str():
            return value
        case BinaryContent():
            return f"[{value.media_type}]"
        case _:
            try:
                return json.dumps(value, ensure_ascii=False, default=_named)
            except (TypeError, ValueError):
                return repr(value)


def _named(value: object) -> str:
    if isinstance(value, BinaryContent):
        return f"[{value.media_type}]"
    if isinstance(value, bytes | bytearray):
        return f"[{len(value)} bytes]"
    return text_of([value])


def _capped(lines: Sequence[Line], kind: Kind, cap: int) -> list[Line]:
    # What is newest is shortened only where the sharp caps have to come.
    recent = len(lines) - _NEWEST_UNTOUCHED if cap > _LEAST_USER_CAP else len(lines)
    return [
        evolve(line, text=_clipped(line.text, cap))
        if line.kind == kind and index < recent and len(line.text) > cap
        else line
        for index, line in enumerate(lines)
    ]


def _clipped(text: str, cap: int) -> str:
    if len(text) <= cap:
        return text
    head, tail = cap // 2, cap - cap // 2
    return f"{text[:head]}\n… {len(text) - cap} characters …\n{text[-tail:]}"


def _groups(lines: Sequence[Line], room: float) -> list[list[Line]]:
    """The lines in order, as many to a group as fit."""
    filled = 0
    left = room

    def group_of(line: Line) -> int:
        nonlocal filled, left
        if line.tokens > left and left < room:
            filled, left = filled + 1, room
        left -= line.tokens
        return filled

    return [list(group) for _, group in groupby((_fitting(line, room) for line in lines), key=group_of)]


def _fitting(line: Line, room: float) -> Line:
    cap = len(line.text)
    while line.tokens > room and cap > 1:
        # A token can be less than a character and, in some scripts, more: halving gets there.
        cap = min(cap // 2, max(int(room), 1))
        line = evolve(line, text=_clipped(line.text, cap))
    return line


def _tokens(lines: Sequence[Line]) -> float:
    return sum(line.tokens for line in lines)


def _fenced(lines: Sequence[Line]) -> str:
    return "\n\n".join((OPEN, *(line.render() for line in lines), CLOSE))
