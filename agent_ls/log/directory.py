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

from agent_ls.disk.files import PRIVATE_DIRECTORY, Files, OperatingSystemFiles
from agent_ls.disk.whole_file import write_all
from agent_ls.errors import LogUnwritable
from agent_ls.protocol import SessionId

_NAME: Final = ".agent_ls"
_SESSIONS: Final = "sessions"
_OUTPUTS: Final = "outputs"
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

    def outputs(self, session_id: SessionId) -> Path:
        """Where the tool results of a session are kept that were too long for the window."""
        return outputs_directory(self.root, session_id)


def outputs_directory(root: Path, session_id: SessionId) -> Path:
    """As `SessionDirectory.outputs`, by the root alone. It is made when there is something to keep."""
    return root / _OUTPUTS / session_id


def session_directory(workspace: Path, files: Files | None = None) -> SessionDirectory:
    """The directory for `workspace`, made private (0700) and ignored by git. Raises LogUnwritable if none can be made.

    A workspace that cannot be written, or whose `.agent_ls` is a symlink (a repository may bring one that points
    anywhere), gets a directory of its own in the user's data directory.
    """
    files = files or OperatingSystemFiles()
    own = workspace / _NAME
    try:
        _prepare(own, files)
    except OSError as error:
        return _prepared_elsewhere(_elsewhere(workspace), f"{own} cannot be used: {_why(error)}", files)
    return SessionDirectory(own, None)


def _prepared_elsewhere(elsewhere: Path, reason: str, files: Files) -> SessionDirectory:
    try:
        elsewhere.parent.mkdir(parents=True, exist_ok=True)
        _prepare(elsewhere, files)
    except OSError as error:
        raise LogUnwritable(
            f"There is no place for sessions: {reason}, nor can {elsewhere}: {_why(error)}.",
            hint="Free some space, or make one of the two writable.",
        ) from error
    return SessionDirectory(elsewhere, f"Sessions are kept in {elsewhere}, because {reason}.")


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def find_session_directory(workspace: Path) -> SessionDirectory | None:
    """The directory `session_directory` would give, if it is there already; nothing is made. None if it is not."""
    found = [root for root in (workspace / _NAME, _elsewhere(workspace)) if _is_own_directory(root / _SESSIONS)]
    writable = [root for root in found if os.access(root / _SESSIONS, os.W_OK | os.X_OK)]
    return SessionDirectory((writable or found)[0], None) if found else None


def make_again(sessions: Path, files: Files) -> None:
    """Make the directory of a log again that was deleted while the session is open. Raises OSError."""
    if sessions.name == _SESSIONS:
        _prepare(sessions.parent, files)
    else:
        _make_private(sessions, files)


def _is_own_directory(sessions: Path) -> bool:
    return sessions.is_dir() and not sessions.is_symlink() and not sessions.parent.is_symlink()


def _elsewhere(workspace: Path) -> Path:
    path = os.fsencode(workspace.absolute())
    readable = _NOT_IN_A_NAME.sub("-", workspace.name)[:40]
    name = f"{readable}-{hashlib.sha256(path).hexdigest()[:16]}"
    return platformdirs.user_data_path("agent-ls", appauthor=False) / "workspaces" / name


def _prepare(root: Path, files: Files) -> None:
    for directory in (root, root / _SESSIONS):
        _make_private(directory, files)
    _write_gitignore(root / ".gitignore", files)
    if not os.access(root / _SESSIONS, os.W_OK | os.X_OK):
        raise PermissionError("it is read-only")


def _make_private(directory: Path, files: Files) -> None:
    with contextlib.suppress(FileExistsError):
        files.make_directory(directory)
    status = directory.stat(follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError("it is not a directory of its own")
    if stat.S_IMODE(status.st_mode) != PRIVATE_DIRECTORY and os.name == "posix":
        directory.chmod(PRIVATE_DIRECTORY)


def _write_gitignore(path: Path, files: Files) -> None:
    """Also into an empty one, which is what a kill leaves; any other that is there is the person's."""
    try:
        status = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        pass
    else:
        if not stat.S_ISREG(status.st_mode) or status.st_size:
            return
    descriptor = files.open(path, create=True)
    try:
        write_all(descriptor, b"*\n", files)
    finally:
        files.close(descriptor)
