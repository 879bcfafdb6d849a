"""Messages to bytes in pydantic-ai's own serialisation, and back; what it cannot write is made writable first.

The fast path is pydantic's JSON writer. It refuses lone surrogates (one non-UTF-8 file name is enough), objects it
does not know, cycles and deep nesting. A message it refuses is rewritten: a surrogate becomes its JSON escape
`\\udXXX`, so it comes back exactly; anything else becomes the text of its `repr`. Writing a message never raises.
"""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NotRequired

from pydantic import Strict, TypeAdapter, ValidationError, with_config
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from agent_ls.log.entries import Unreadable

_logger = logging.getLogger(__name__)

_MAX_DEPTH: Final = 120
"""Deeper content becomes its repr: pydantic writes 255 levels and reads 200, the message's own included."""


@with_config(ser_json_bytes="base64", val_json_bytes="base64")
class MessagesLine(TypedDict):
    """The JSON of a line of messages, as pydantic reads it in one go."""

    at: str
    ordinal: Annotated[int, Strict()]
    title: NotRequired[str | None]
    messages: list[ModelMessage]


_messages_line: Final = TypeAdapter(MessagesLine)

# A noncharacter no text should contain marks an escape until the JSON is made; it is escaped itself, so any text
# comes through.
_MARK: Final = "\ufdd0"
_TO_MARK: Final = re.compile("[\ud800-\udfff\ufdd0]")
_REPLACEMENT: Final = "\ufffd".encode()
_MARKED: Final = re.compile(_MARK.encode() + rb"([0-9a-f]{4})")


def dump_messages(messages: Sequence[ModelMessage]) -> bytes:
    """`messages` as a JSON array without a newline. Never raises on content (DESIGN §4)."""
    try:
        return _dump_exactly(messages)
    except Exception:  # noqa: BLE001 - any object may stand in a tool's result, and raise anything
        return b"[" + b",".join(_dump_one(message) for message in messages) + b"]"


def load_messages_line(line: bytes) -> MessagesLine | None:
    """A line of messages, all of them or None: then `load_each` tells which one cannot be loaded."""
    try:
        return _messages_line.validate_json(line)
    except Exception:  # noqa: BLE001 - beside pydantic, a message's own checks may refuse it, with any exception
        return None


def load_each(values: Sequence[Any]) -> list[ModelMessage | Unreadable]:
    """The messages of an array that `json.loads` has read, one by one: those that cannot be loaded are marked."""
    return [_load_one(value) for value in values]


def _load_one(value: Any) -> ModelMessage | Unreadable:
    try:
        return ModelMessagesTypeAdapter.validate_python([value])[0]
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"][1:])
        return Unreadable(f"{where}: {first['msg']}" if where else first["msg"])
    except Exception as error:  # noqa: BLE001 - as in load_messages_line
        return Unreadable(f"{type(error).__name__}: {error}")


def _dump_exactly(messages: Sequence[ModelMessage]) -> bytes:
    dumped = ModelMessagesTypeAdapter.dump_json(list(messages), warnings=False)
    if _REPLACEMENT in dumped:
        # A surrogate in a dictionary's key is not refused but replaced in silence; a real U+FFFD only costs time.
        raise ValueError("something may have been replaced")
    return dumped


def _dump_one(message: ModelMessage) -> bytes:
    try:
        return _dump_exactly([message])[1:-1]
    except Exception as refusal:  # noqa: BLE001 - as in dump_messages
        cause = refusal
    try:
        writable = _Rewriter().message(message)
        dumped = ModelMessagesTypeAdapter.dump_json([writable], warnings=False)[1:-1]
    except Exception:
        _logger.exception("A message could not be serialised; the log keeps its text only")
        dumped = ModelMessagesTypeAdapter.dump_json([_text_only(message)], warnings=False)[1:-1]
    else:
        _logger.debug("A message was rewritten to be serialised: %s", ascii(cause))
    return _MARKED.sub(rb"\\u\1", dumped)


def _mark(text: str) -> str:
    return _TO_MARK.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def _repr(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a foreign __repr__ may raise anything
        text = f"<{type(value).__name__}>"
    return text


class _Rewriter:
    """Rewrites a message into one that pydantic can write, with marks for what JSON must escape."""

    def __init__(self) -> None:
        self._open: set[int] = set()

    def message(self, message: ModelMessage) -> ModelMessage:
        rewritten: ModelMessage = self._value(message)
        return rewritten

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return _mark(str(value))
        if value is None or isinstance(value, bool | int | float | bytes):
            return value
        if id(value) in self._open or len(self._open) > _MAX_DEPTH:
            return _mark(_repr(value))
        self._open.add(id(value))
        try:
            return self._container(value)
        finally:
            self._open.discard(id(value))

    def _container(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {
                _mark(key if isinstance(key, str) else _repr(key)): self._value(item) for key, item in value.items()
            }
        if isinstance(value, list | tuple | set | frozenset):
            return [self._value(item) for item in value]
        if (
            dataclasses.is_dataclass(value)
            and not isinstance(value, type)
            and type(value).__module__.startswith("pydantic_ai")
        ):
            changed = {
                each.name: self._value(getattr(value, each.name)) for each in dataclasses.fields(value) if each.init
            }
            return dataclasses.replace(value, **changed)
        if type(value).__module__ == "datetime":
            return value
        return self._foreign(value)

    def _foreign(self, value: Any) -> Any:
        try:
            plain = to_jsonable_python(value, fallback=_repr, bytes_mode="base64", serialize_unknown=True)
        except Exception:  # noqa: BLE001 - as in dump_messages
            plain = _repr(value)
        # An object that serialises to itself would come back here for ever.
        return self._value(plain) if type(plain) is not type(value) else _mark(_repr(value))


def _text_only(message: ModelMessage) -> ModelMessage:
    """What can always be written of a message: its calls and results keep their pairing, all else is text."""
    if isinstance(message, ModelRequest):
        return ModelRequest(
            parts=[
                ToolReturnPart(part.tool_name, _mark(_repr(part.content)), part.tool_call_id)
                if isinstance(part, ToolReturnPart)
                else UserPromptPart(_mark(_repr(part)))
                for part in message.parts
            ]
        )
    return ModelResponse(
        parts=[
            ToolCallPart(part.tool_name, {"unserialisable": _mark(_repr(part.args))}, part.tool_call_id)
            if isinstance(part, ToolCallPart)
            else TextPart(_mark(_repr(part)))
            for part in message.parts
        ]
    )
