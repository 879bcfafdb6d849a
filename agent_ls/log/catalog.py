"""The sessions of a directory, listed from the head and the tail of each log: no message is loaded."""

from __future__ import annotations

import logging
import os
from collections.abc import Container, Iterator, Mapping
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, Final

from attrs import frozen

from agent_ls.errors import SessionNotFound
from agent_ls.log.codec import BadLine, read_head
from agent_ls.log.lines import backwards
from agent_ls.log.names import LogName, parse_name
from agent_ls.log.writer import delete_log
from agent_ls.protocol import SessionId

_logger = logging.getLogger(__name__)

_BLOCK: Final = 8192
"""Bytes read at a log's head and, at a time, at its tail: most often enough for the lines that tell."""


@frozen
class SessionRow:
    """One session in a list; `created` is to the second. `messages` counts all, also what a compaction covered."""

    session_id: SessionId
    path: Path
    title: str
    created: datetime
    updated: datetime
    messages: int


def list_sessions(directory: Path) -> list[SessionRow]:
    """The sessions of `directory`, the one written last first. A file that is no log is left out. Never raises."""
    rows = [row for path, name in _logs(directory) if (row := _row(path, name)) is not None]
    return sorted(rows, key=lambda row: (row.updated, row.path.name), reverse=True)


def find_session(directory: Path, session_id: SessionId) -> Path:
    """The log of a session. Raises SessionNotFound."""
    for path, name in _logs(directory):
        if name.session_id == session_id:
            return path
    raise SessionNotFound(f"There is no session {session_id} here.", session_id=session_id)


def latest_session(directory: Path, own: Container[SessionId] | None = None) -> Path:
    """The log that was written last; given `own`, of those. Raises SessionNotFound if there is none."""
    rows = list_sessions(directory)
    if own is None and rows:
        return rows[0].path
    for row in rows:
        if own is not None and row.session_id in own:
            return row.path
    if rows:
        raise SessionNotFound(
            f"There is no earlier session of yours here; {len(rows)} came from elsewhere.",
            hint="Resume one of those by its id if you trust it.",
        )
    raise SessionNotFound("There is no earlier session here.")


def delete_session(directory: Path, session_id: SessionId) -> None:
    """Delete a session's log and what belongs to it. Raises SessionNotFound, SessionLocked, LogUnwritable."""
    delete_log(find_session(directory, session_id))


def write_back_pending(path: Path) -> bool:
    """Whether the model has answered since the last memory write-back, read from the log's end. Raises OSError."""
    with path.open("rb") as file:
        for head in _heads_backwards(file):
            kind = head.get("type")
            if kind == "messages" and _count(head, "responses"):
                return True
            if kind == "memory":
                return False
            totals = head.get("totals")
            if isinstance(totals, Mapping):
                return _count(totals, "answered") > _count(totals, "remembered")
    return False


def _logs(directory: Path) -> Iterator[tuple[Path, LogName]]:
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                name = parse_name(entry.name)
                if name is not None and entry.is_file(follow_symlinks=False):
                    yield directory / entry.name, name
    except FileNotFoundError:
        return
    except OSError as error:
        _logger.warning("The sessions of %s cannot be listed: %s", directory, error)


def _row(path: Path, name: LogName) -> SessionRow | None:
    try:
        with path.open("rb", buffering=0) as file:
            title = _title(file.read(_BLOCK))
            updated, messages = _newest(file)
            if updated is None:
                updated = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
    except OSError as error:
        _logger.warning("%s cannot be read and is left out of the list: %s", path, error)
        return None
    return SessionRow(name.session_id, path, title, name.created, updated, messages)


def _title(start: bytes) -> str:
    """The title on the first line of messages, which stands behind the header."""
    title = _head(start.split(b"\n", 2)[1]).get("title") if b"\n" in start else None
    return title if isinstance(title, str) else ""


def _newest(file: BinaryIO | FileIO) -> tuple[datetime | None, int]:
    """When the newest line was written, and the number of messages by the newest line that tells."""
    updated: datetime | None = None
    for head in _heads_backwards(file):
        updated = updated or _moment(head.get("at"))
        match head.get("type"):
            case "messages":
                return updated, _count(head, "ordinal") + _count(head, "count")
            case "turn":
                return updated, _count(head, "messages")
            case "compaction":
                return updated, _count(head, "next_ordinal")
            case "memory":
                return updated, _count(head, "covers")
    return updated, 0


def _heads_backwards(file: BinaryIO | FileIO) -> Iterator[Mapping[str, Any]]:
    return (_head(line.data) for line in backwards(file, _BLOCK))


def _head(line: bytes) -> Mapping[str, Any]:
    try:
        return read_head(line)
    except BadLine:
        return {}  # replay warns about it; a list only leaves out what the line would have told


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _count(head: Mapping[str, Any], key: str) -> int:
    value = head.get(key)
    return value if isinstance(value, int) and value > 0 else 0
