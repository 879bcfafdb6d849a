"""Microcompaction: old tool outputs are blanked in memory, no model asked (CASCADE §5).

Pure: gives new messages for those that change and the same objects for all others; the same list if nothing does.

Only what answers a call or asks for a retry is blanked. Text and pictures that a tool sent along as a user's message
stay: in a history they cannot be told from what the user said, and that is never blanked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, TypeVar

from attrs import frozen
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    RetryFeedbackPart,
    ToolReturnPart,
)

from agent_ls.compaction.boundary import Boundary, is_legacy_retry, newest_round
from agent_ls.compaction.estimate import Estimator, Weight
from agent_ls.garbage import collector_paused

ELIDED: Final = "[tool output elided by microcompaction]"
_PLACEHOLDER_LENGTH: Final = len(ELIDED)

_READ_FILE_KIND: Final = "file_system.read_file"
"""The harness's typed `read_file` result: its content has no declared shape, so text in it still loads."""


@frozen
class MicroResult:
    """What a pass made of the history. `tokens_freed` is estimated; all before `first_elided` is as it was."""

    messages: Sequence[ModelMessage]
    parts_elided: int
    tokens_freed: int
    first_elided: int


@collector_paused()
def microcompact(messages: Sequence[ModelMessage], boundary: Boundary, estimator: Estimator) -> MicroResult:
    """Blank every tool result and retry before `boundary` that the model has seen.

    Results the framework or a provider gave a type stay: rewritten they would not load, or be refused. So do results
    no longer than the placeholder, and those of the newest round.
    """
    after: list[ModelMessage] | None = None
    elided, text, media, first = 0, 0.0, 0.0, len(messages)
    for index in range(min(boundary.index, newest_round(messages))):
        message = messages[index]
        if not isinstance(message, ModelRequest):
            continue
        parts: list[ModelRequestPart] | None = None
        weights: Sequence[Weight] = ()
        for at, part in enumerate(message.parts):
            if (blanked := _blanked(part)) is not part:
                if parts is None:
                    parts, weights = list(message.parts), estimator.parts(message)
                parts[at] = blanked
                text += weights[at].text
                media += weights[at].media
                elided += 1
        if parts is not None:
            if after is None:
                after, first = list(messages), index
            after[index] = _with(message, "parts", parts)
    if after is None:
        return MicroResult(messages, 0, 0, first)
    freed = round(Weight(text, media).times(estimator.factor)) - elided * estimator.text(ELIDED)
    return MicroResult(after, elided, max(freed, 0), first)


def _blanked(part: ModelRequestPart) -> ModelRequestPart:
    """The part with the placeholder for content; the same part if it stays as it is."""
    if type(part) is ToolReturnPart:
        # A message gives a result that the framework reads its own type, so that this is none.
        stays = False
    elif isinstance(part, ToolReturnPart):
        stays = part.tool_kind != _READ_FILE_KIND
    else:
        stays = not (isinstance(part, RetryFeedbackPart) or is_legacy_retry(part))
    if stays:
        return part
    content = part.content  # type: ignore[union-attr]  # results and retries have content
    length = len(content) if type(content) is str else _length(content)
    return _with(part, "content", ELIDED) if length > _PLACEHOLDER_LENGTH else part


def _length(content: object) -> int:
    """Characters of a body that is no plain text, counted until they are more than the placeholder's."""
    match content:
        case None:
            return 0
        case str():
            return len(content)
        case bytes() | BinaryContent():
            return _PLACEHOLDER_LENGTH + 1
        case Mapping() | list() | tuple():
            items = chain.from_iterable(content.items()) if isinstance(content, Mapping) else content
            length = 2
            for item in items:
                length += 2 + _length(item)
                if length > _PLACEHOLDER_LENGTH:
                    break
            return length
        case _:
            return len(repr(content))


_Instance = TypeVar("_Instance")


def _with(instance: _Instance, name: str, value: object) -> _Instance:
    """`dataclasses.replace` of one field without running `__init__` again: all other fields are the same objects.

    The checks in there passed when the instance was made; running them again would take most of a pass.
    """
    new = object.__new__(type(instance))
    new.__dict__ = values = vars(instance).copy()
    values[name] = value
    return new
