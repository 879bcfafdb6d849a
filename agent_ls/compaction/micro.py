"""Microcompaction: old tool outputs are blanked in memory, no model asked (CASCADE §5).

Pure: gives new messages for those that change and the same objects for all others; the same list if nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from attrs import frozen
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, RetryFeedbackPart, ToolReturnPart

from agent_ls.compaction.boundary import Boundary, newest_round
from agent_ls.compaction.estimate import Estimator

ELIDED: Final = "[tool output elided by microcompaction]"

_READ_FILE_KIND: Final = "file_system.read_file"
"""The harness's typed `read_file` result: its content has no declared shape, so text in it still loads."""


@frozen
class MicroResult:
    """What a pass made of the history. `tokens_freed` is estimated."""

    messages: Sequence[ModelMessage]
    parts_elided: int
    tokens_freed: int


def microcompact(messages: Sequence[ModelMessage], boundary: Boundary, estimator: Estimator) -> MicroResult:
    """Blank every tool result and retry before `boundary` that the model has seen.

    Results the framework or a provider gave a type stay: rewritten they would not load, or be refused. So do results
    no longer than the placeholder, and those of the newest round.
    """
    end = min(boundary.index, newest_round(messages))
    changed: dict[int, ModelMessage] = {}
    parts, freed = 0, 0
    for index in range(end):
        message = messages[index]
        if not isinstance(message, ModelRequest):
            continue
        blanked = [_blanked(part) for part in message.parts]
        count = sum(new is not old for new, old in zip(blanked, message.parts, strict=True))
        if count:
            changed[index] = replace(message, parts=blanked)
            parts += count
            freed += estimator.message(message) - estimator.message(changed[index])
    if not changed:
        return MicroResult(messages, 0, 0)
    return MicroResult([changed.get(index, message) for index, message in enumerate(messages)], parts, max(freed, 0))


def is_elided(part: Any) -> bool:
    """Whether a part was blanked."""
    return getattr(part, "content", None) == ELIDED


def _blanked(part: Any) -> Any:
    if not _may_be_blanked(part) or _is_short(part.content):
        return part
    return replace(part, content=ELIDED)


def _may_be_blanked(part: Any) -> bool:
    if type(part) is ToolReturnPart or isinstance(part, RetryFeedbackPart):
        return True
    return isinstance(part, ToolReturnPart) and getattr(part, "tool_kind", None) == _READ_FILE_KIND


def _is_short(content: Any) -> bool:
    match content:
        case None:
            return True
        case str():
            return len(content) <= len(ELIDED)
        case BinaryContent() | list() | tuple():
            return not content
        case _:
            return len(repr(content)) <= len(ELIDED)
