"""How a session log's file is called: `<UTC-timestamp>_<id>.jsonl`."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from agent_ls import __version__
from agent_ls.log.entries import FORMAT_VERSION, Header, now
from agent_ls.protocol import SessionId

SUFFIX: Final = ".jsonl"
_DEPTH_IN_WORKSPACE: Final = 2  # <workspace>/.agent_ls/sessions/<log>
_TIMESTAMP: Final = "%Y%m%dT%H%M%SZ"
_NAME: Final = re.compile(r"(?P<created>\d{8}T\d{6}Z)_(?P<id>[0-9A-Za-z-]{1,64})\.jsonl")


@frozen
class LogName:
    """What the name of a log tells: whose it is and, to the second, since when."""

    session_id: SessionId
    created: datetime


def new_session_id() -> SessionId:
    """An id no other session has: letters, digits and hyphens only, so that it can stand in a file name."""
    return SessionId(secrets.token_hex(8))


def log_name(created: datetime, session_id: SessionId) -> str:
    """The name of a session's log. Raises ValueError for an id that cannot stand in it."""
    name = f"{created.astimezone(UTC).strftime(_TIMESTAMP)}_{session_id}{SUFFIX}"
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{session_id!r} is no session id: letters, digits and hyphens, at most 64")
    return name


def own_header(path: Path, header: Header | None) -> Header:
    """The header of the log at `path`, which may have lost it: then the name and the place tell what they can.

    The name decides whose log it is, so a copied file is a session of its own.
    """
    name = parse_name(path.name) or LogName(SessionId(path.stem), now())
    if header is not None:
        return evolve(header, session_id=name.session_id)
    folders = path.absolute().parents
    return Header(
        version=FORMAT_VERSION,
        session_id=name.session_id,
        workspace=str(folders[min(_DEPTH_IN_WORKSPACE, len(folders) - 1)]),
        created=name.created,
        agent_ls=__version__,
    )


def session_id_of(path: Path) -> SessionId | None:
    """The session id in a log's name, None if it is not called like a log."""
    name = parse_name(path.name)
    return name.session_id if name else None


def parse_name(name: str) -> LogName | None:
    """What a file name tells of a session, None if no log is called so."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    try:
        return LogName(SessionId(found["id"]), datetime.fromisoformat(found["created"]))
    except ValueError:
        return None
