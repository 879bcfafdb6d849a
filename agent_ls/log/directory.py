"""Where a workspace's sessions live: `<workspace>/.agent_ls/`, or the user's data directory where that cannot be."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Final

import platformdirs
from attrs import frozen

from agent_ls.log.files import PRIVATE_DIRECTORY, PRIVATE_FILE

_NAME: Final = ".agent_ls"
_SESSIONS: Final = "sessions"
_NOT_IN_A_NAME: Final = re.compile(r"[^0-9A-Za-z._-]+")


@frozen
class SessionDirectory:
    """`root` holds MEMORY.md, `sessions` the logs. `notice` says why it is not in the workspace, None if it is."""

    root: Path
    notice: str | None

    @property
    def sessions(self) -> Path:
        """Where the logs are."""
        return self.root / _SESSIONS


def session_directory(workspace: Path) -> SessionDirectory:
    """The directory for `workspace`, made private (0700) and ignored by git. Raises OSError if nothing can be made.

    A workspace that cannot be written, or whose `.agent_ls` is a symlink (a repository may bring one that points
    anywhere), gets a directory of its own in the user's data directory.
    """
    own = workspace / _NAME
    try:
        _prepare(own)
    except OSError as error:
        elsewhere = _elsewhere(workspace)
        elsewhere.parent.mkdir(parents=True, exist_ok=True)
        _prepare(elsewhere)
        why = error.strerror or str(error)
        return SessionDirectory(elsewhere, f"Sessions are kept in {elsewhere}, because {own} cannot be used: {why}.")
    return SessionDirectory(own, None)


def find_session_directory(workspace: Path) -> SessionDirectory | None:
    """The directory `session_directory` would give, if it is there already; nothing is made. None if it is not."""
    found = [root for root in (workspace / _NAME, _elsewhere(workspace)) if _is_own_directory(root / _SESSIONS)]
    writable = [root for root in found if os.access(root / _SESSIONS, os.W_OK | os.X_OK)]
    return SessionDirectory((writable or found)[0], None) if found else None


def make_again(sessions: Path) -> None:
    """Make the directory of a log again that was deleted while the session is open. Raises OSError."""
    if sessions.name == _SESSIONS:
        _prepare(sessions.parent)
    else:
        sessions.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)


def _is_own_directory(sessions: Path) -> bool:
    return sessions.is_dir() and not sessions.is_symlink() and not sessions.parent.is_symlink()


def _elsewhere(workspace: Path) -> Path:
    path = os.fsencode(workspace.absolute())
    readable = _NOT_IN_A_NAME.sub("-", workspace.name)[:40]
    name = f"{readable}-{hashlib.sha256(path).hexdigest()[:16]}"
    return platformdirs.user_data_path("agent-ls", appauthor=False) / "workspaces" / name


def _prepare(root: Path) -> None:
    for directory in (root, root / _SESSIONS):
        _make_private(directory)
    _write_gitignore(root / ".gitignore")
    if not os.access(root / _SESSIONS, os.W_OK | os.X_OK):
        raise PermissionError("it is read-only")


def _make_private(directory: Path) -> None:
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode=PRIVATE_DIRECTORY)
    status = directory.stat(follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError("it is not a directory of its own")
    if stat.S_IMODE(status.st_mode) != PRIVATE_DIRECTORY and os.name == "posix":
        directory.chmod(PRIVATE_DIRECTORY)


def _write_gitignore(path: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags, PRIVATE_FILE)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "wb") as file:
        file.write(b"*\n")
