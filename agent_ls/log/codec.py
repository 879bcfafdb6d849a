"""One entry of the session log to one line of bytes, and back.

The line's scalars stand first and its messages last. So a line is written without copying the messages through
Python objects, read with pydantic's own JSON reader, and its head can be read without its body (`read_head`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import cattrs

from agent_ls.log.entries import (
    CompactionEntry,
    CompactionRecord,
    Header,
    LogEntry,
    MemoryEntry,
    MessagesEntry,
    TurnEntry,
    UndoEntry,
    UnknownEntry,
    Unreadable,
    WritableEntry,
)

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

TYPE_NAMES: Final[Mapping[type[WritableEntry], str]] = {
    Header: "header",
    MessagesEntry: "messages",
    CompactionEntry: "compaction",
    UndoEntry: "undo_compaction",
    TurnEntry: "turn",
    MemoryEntry: "memory",
}
"""The `type` of each kind of line."""

_SCALAR_ENTRIES: Final[Mapping[str, type[Header | UndoEntry | TurnEntry | MemoryEntry]]] = {
    TYPE_NAMES[kind]: kind for kind in (Header, UndoEntry, TurnEntry, MemoryEntry)
}

_Scalars = TypeVar("_Scalars", bound=Header | CompactionRecord | UndoEntry | TurnEntry | MemoryEntry)

_MESSAGES_KEY: Final = b',"messages":'
_SUMMARY_KEY: Final = b',"summary":'
_TAIL_KEY: Final = b',"tail":'
_MESSAGES_START: Final = b'{"type":"messages",'
_START_OF_LINE: Final = re.compile(rb'\{"type":"[a-z_]+","')
_MAX_STARTS_TRIED: Final = 8


class BadLine(ValueError):
    """A line that is no entry: torn, overwritten or written by something else. The text says why."""


def encode(entry: WritableEntry) -> bytes:
    """`entry` as one line, `\\n` at its end and nowhere else. Never raises on message content."""
    from agent_ls.log.serialisation import dump_messages

    head: dict[str, Any] = {"type": TYPE_NAMES[type(entry)]}
    body = b""
    match entry:
        case MessagesEntry(at, ordinal, messages, title):
            responses = sum(not isinstance(each, Unreadable) and each.kind == "response" for each in messages)
            head |= {"at": _text_of(at), "ordinal": ordinal, "count": len(messages), "responses": responses}
            if title is not None:
                head["title"] = title
            body = _MESSAGES_KEY + dump_messages(_all_readable(messages))
        case CompactionEntry(record, summary, tail):
            head |= _converter.unstructure(record)
            body = _SUMMARY_KEY + dump_messages([summary])[1:-1] + _TAIL_KEY + dump_messages(tail)
        case _:
            head |= _converter.unstructure(entry)
    return json.dumps(head, separators=(",", ":"))[:-1].encode("ascii") + body + b"}\n"


def decode(line: bytes) -> LogEntry:
    """The entry of one line, with or without its newline. Raises BadLine."""
    from agent_ls.log.serialisation import load_messages_line

    line = line.removesuffix(b"\n")
    if line.startswith(_MESSAGES_START):
        fields = load_messages_line(line)
        if fields is not None:
            return _messages_entry(fields, fields["messages"])
    return _decode_whole(line)


def salvage(line: bytes) -> LogEntry | None:
    """The entry at the end of a damaged line: the one behind NUL bytes, or behind a line torn before its newline."""
    for start in list(_START_OF_LINE.finditer(line, 1))[:_MAX_STARTS_TRIED]:
        try:
            return decode(line[start.start() :])
        except BadLine:
            continue
    return None


def read_head(start_of_line: bytes) -> Mapping[str, Any]:
    """The scalars of a line of which only the beginning was read, without its messages. Raises BadLine."""
    # A quote inside a JSON string is escaped, so these keys cannot be inside one: the first is the line's own.
    starts = [start_of_line.find(key) for key in (_MESSAGES_KEY + b"[", _SUMMARY_KEY + b"{")]
    ends = [start for start in starts if start >= 0]
    return _object(start_of_line[: min(ends)] + b"}" if ends else start_of_line)


def _decode_whole(line: bytes) -> LogEntry:
    from agent_ls.log.serialisation import load_each

    value = _object(line)
    name = value.get("type")
    if name == "messages":
        return _messages_entry(value, load_each(_list(value, "messages")))
    if name == "compaction":
        return _compaction_entry(value, load_each([value.get("summary"), *_list(value, "tail")]))
    if not isinstance(name, str):
        raise BadLine("it has no type")
    kind = _SCALAR_ENTRIES.get(name)
    if kind is None:
        return UnknownEntry(name)
    return _structured(value, kind)


def _messages_entry(head: Mapping[str, Any], messages: Sequence[ModelMessage | Unreadable]) -> MessagesEntry:
    ordinal, title = head.get("ordinal"), head.get("title")
    if not isinstance(ordinal, int) or ordinal < 0:
        raise BadLine(f"its ordinal is {ordinal!r}, not a number")
    return MessagesEntry(
        at=_moment(head.get("at")),
        ordinal=ordinal,
        messages=tuple(messages),
        title=title if isinstance(title, str) else None,
    )


def _compaction_entry(head: Mapping[str, Any], messages: Sequence[ModelMessage | Unreadable]) -> CompactionEntry:
    from pydantic_ai.messages import ModelRequest

    summary, *tail = _all_readable(messages)
    if not isinstance(summary, ModelRequest):
        raise BadLine("its summary is not a request")
    record = _structured(head, CompactionRecord)
    try:
        return CompactionEntry(record=record, summary=summary, tail=tuple(tail))
    except ValueError as error:
        raise BadLine(str(error)) from error


def _all_readable(messages: Sequence[ModelMessage | Unreadable]) -> list[ModelMessage]:
    readable: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, Unreadable):
            raise BadLine(f"a message of it cannot be loaded ({message.reason})")
        readable.append(message)
    return readable


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise BadLine(f"it is not JSON ({_short(error)})") from error
    if not isinstance(value, dict):
        raise BadLine("it is not a JSON object")
    return value


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    if not isinstance(found, list):
        raise BadLine(f"it has no {key}")
    return found


def _structured(value: Mapping[str, Any], kind: type[_Scalars]) -> _Scalars:
    try:
        return _converter.structure(value, kind)
    except cattrs.BaseValidationError as error:
        raise BadLine("; ".join(cattrs.transform_error(error))) from error


def _moment(value: Any) -> datetime:
    if not isinstance(value, str):
        raise BadLine(f"its time is {value!r}, not text")
    try:
        moment = datetime.fromisoformat(value)
        in_utc = moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        # Year 1 in the east, or 9999 in the west, has no time in UTC.
        raise BadLine(_short(error)) from error
    if moment.tzinfo is None:
        raise BadLine(f"its time {value} names no time zone")
    return in_utc


def _text_of(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _short(error: Exception) -> str:
    return str(error)[:200] or type(error).__name__


def _make_converter() -> cattrs.Converter:
    converter = cattrs.Converter()
    converter.register_unstructure_hook(datetime, _text_of)
    converter.register_structure_hook(datetime, lambda value, _: _moment(value))
    return converter


_converter: Final = _make_converter()
