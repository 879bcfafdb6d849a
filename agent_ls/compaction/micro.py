"""Microcompaction: old tool outputs are blanked in memory, no model asked (CASCADE §5).

Pure: gives new messages for those that change and the same objects for all others; the same list if nothing does.

Only what answers a call or asks for a retry is blanked. Text and pictures that a tool sent along as a user's message
stay: in a history they cannot be told from what the user said, and that is never blanked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from attrs import frozen
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, RetryFeedbackPart, ToolReturnPart

from agent_ls.compaction.boundary import Boundary, is_legacy_retry, newest_round
from agent_ls.compaction.estimate import Estimator

ELIDED: Final = "[tool output elided by microcompaction]"

_READ_FILE_KIND: Final = "file_system.read_file"
"""The harness's typed `read_file` result: its content has no declared shape, so text in it still loads."""
_FRAMEWORK_KINDS: Final = frozenset({"tool-search", "capability-load"})
"""Results pydantic-ai reads itself: with text for content they no longer load."""


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
    after: list[ModelMessage] | None = None
    elided, freed = 0, 0.0
    for index in range(min(boundary.index, newest_round(messages))):
        message = messages[index]
        if not isinstance(message, ModelRequest):
            continue
        parts: list[ModelRequestPart] | None = None
        weights: Sequence[float] = ()
        for at, part in enumerate(message.parts):
            if (blanked := _blanked(part)) is not part:
                if parts is None:
                    parts, weights = list(message.parts), estimator.parts(message)
                parts[at] = blanked
                freed += weights[at]
                elided += 1
        if parts is not None:
            if after is None:
                after = list(messages)
            after[index] = _with(message, "parts", parts)
    if after is None:
        return MicroResult(messages, 0, 0)
    return MicroResult(after, elided, max(round(freed) - elided * estimator.text(ELIDED), 0))


def is_elided(part: Any) -> bool:
    """Whether a part was blanked."""
    return getattr(part, "content", None) == ELIDED


def _blanked(part: ModelRequestPart) -> ModelRequestPart:
    """The part with the placeholder for content; the same part if it stays as it is."""
    if type(part) is ToolReturnPart:
        # A failed result is an error text, whatever the kind of the tool.
        is_ours = part.tool_kind is None or part.tool_kind not in _FRAMEWORK_KINDS or part.outcome != "success"
    elif isinstance(part, ToolReturnPart):
        is_ours = part.tool_kind == _READ_FILE_KIND
    else:
        is_ours = isinstance(part, RetryFeedbackPart) or is_legacy_retry(part)
    if not is_ours or _is_short(part.content):  # type: ignore[union-attr]  # results and retries have content
        return part
    return _with(part, "content", ELIDED)


_Instance = TypeVar("_Instance")


def _with(instance: _Instance, name: str, value: object) -> _Instance:
    """`dataclasses.replace` of one field without running `__init__` again: all other fields are the same objects.

    The checks in there passed when the instance was made; running them again would take most of a pass.
    """
    new = object.__new__(type(instance))
    vars(new).update(vars(instance))
    setattr(new, name, value)
    return new


def _is_short(content: Any) -> bool:
    """Whether a body is no longer than the placeholder; pictures and other bytes always are longer."""
    match content:
        case str():
            return len(content) <= len(ELIDED)
        case None | bool() | int() | float():
            return True
        case list() | tuple() if not content:
            return True
        case _:
            return len(repr(content)) <= len(ELIDED)
