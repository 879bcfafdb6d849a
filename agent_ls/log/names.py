"""How a session log's file is called: `<UTC-timestamp>_<id>.jsonl`."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agent_ls import __version__
from agent_ls.log.entries import FORMAT_VERSION, Header, now
from agent_ls.protocol import SessionId

SUFFIX: Final = ".jsonl"
_DEPTH_IN_WORKSPACE: Final = 2  # <workspace>/.agent_ls/sessions/<log>
_TIMESTAMP: Final = "%Y%m%dT%H%M%SZ"
_NAME: Final = re.compile(r"(?P<created>\d{8}T\d{6}Z)_(?P<id>[0-9A-Za-z-]{1,64})\.jsonl")


def new_session_id() -> SessionId:
    """An id no other session has: letters, digits and hyphens only, so that it can stand in a file name."""
    return SessionId(secrets.token_hex(8))


def log_name(created: datetime, session_id: SessionId) -> str:
    """The name of a session's log. Raises ValueError for an id that cannot stand in it."""
    name = f"{created.astimezone(UTC).strftime(_TIMESTAMP)}_{session_id}{SUFFIX}"
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{session_id!r} is no session id: letters, digits and hyphens, at most 64")
    return name


def header_from_name(path: Path) -> Header:
    """A header for a log that lost its own: the file's name knows the session, its place the workspace."""
    folders = path.absolute().parents
    return Header(
        version=FORMAT_VERSION,
        session_id=session_id_of(path) or SessionId(path.stem),
        workspace=str(folders[min(_DEPTH_IN_WORKSPACE, len(folders) - 1)]),
        created=created_of(path) or now(),
        agent_ls=__version__,
    )


def session_id_of(path: Path) -> SessionId | None:
    """The session id in a log's name, None if it is not called like a log."""
    found = _NAME.fullmatch(path.name)
    return SessionId(found["id"]) if found else None


def created_of(path: Path) -> datetime | None:
    """When the session was created, from its log's name; None if that tells no time."""
    found = _NAME.fullmatch(path.name)
    if found is None:
        return None
    try:
        return datetime.strptime(found["created"], _TIMESTAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
