"""What a person allowed for good in a workspace, in the user's own directory: a repository cannot bring approvals.

One JSON file for all workspaces, `permissions.json`, replaced atomically under a lock.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import platformdirs
from attrs import define, field, frozen
from filelock import FileLock, Timeout

from agent_ls.disk.files import Files, OperatingSystemFiles
from agent_ls.disk.whole_file import write_whole

logger = logging.getLogger(__name__)

_LOCK_TIMEOUT_SECONDS: Final = 2.0

Access: TypeAlias = Literal["read", "write"]


@frozen
class WorkspaceEdits:
    """Every edit of an ordinary file inside the workspace."""


@frozen
class ExactCommand:
    """A shell command with exactly this text: no prefix, no pattern, so nothing can be added to it."""

    command: str


@frozen
class ExactPath:
    """One file, by its resolved path."""

    access: Access
    path: str


Approval: TypeAlias = WorkspaceEdits | ExactCommand | ExactPath


def default_path() -> Path:
    """The user's own file."""
    return platformdirs.user_config_path("agent-ls", appauthor=False) / "permissions.json"


@define
class ApprovalFile:
    """The approvals of one workspace. A file that cannot be read or is damaged allows nothing, and says so once."""

    path: Path
    workspace: Path
    _files: Files = field(factory=OperatingSystemFiles)
    _known: frozenset[Approval] = field(init=False, default=frozenset())
    _stamp: tuple[int, int, int] | None = field(init=False, default=None)

    def load(self) -> frozenset[Approval]:
        """What is allowed now; another server's additions count from their writing on."""
        stamp = self._stamp_now()
        if stamp != self._stamp:
            self._stamp = stamp
            self._known = frozenset(_approvals(self._usable().get(str(self.workspace), {})))
        return self._known

    def add(self, approval: Approval) -> None:
        """Remember `approval`. A failed write is logged: the answer then holds for the session only.

        A damaged file is kept aside; one that cannot be read is left alone, as it may hold what others allowed.
        """
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock", timeout=_LOCK_TIMEOUT_SECONDS):
                workspaces = dict(self._read_or_keep_aside())
                known = set(_approvals(workspaces.get(str(self.workspace), {})))
                workspaces[str(self.workspace)] = _plain(known | {approval})
                text = json.dumps({"version": 1, "workspaces": workspaces}, indent=2) + "\n"
                # The person's own directory: where their dotfiles put a symlink, it stays one.
                place = Path(os.path.realpath(self.path))
                write_whole(place, text.encode("utf-8"), self._files)
                self._files.sync_directory(place.parent)
        except (OSError, Timeout, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or error
            logger.warning(
                "The answer could not be remembered in %s and holds for this session only: %s", self.path, why
            )

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _usable(self) -> Mapping[str, Any]:
        try:
            return self._read()
        except (OSError, ValueError) as error:
            logger.warning("no approvals are used, as %s cannot be read: %s", self.path, error)
            return {}

    def _read_or_keep_aside(self) -> Mapping[str, Any]:
        try:
            return self._read()
        except ValueError as error:
            place = Path(os.path.realpath(self.path))
            aside = next(name for name in _names_aside(place) if not name.exists())
            self._files.replace(place, aside)
            logger.warning("%s is damaged (%s): it is kept as %s, and a new one begins", self.path, error, aside.name)
            return {}

    def _read(self) -> Mapping[str, Any]:
        """Each workspace's entry. Raises OSError, and ValueError for a damaged file."""
        try:
            content = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        workspaces = content.get("workspaces") if isinstance(content, dict) else None
        if not isinstance(workspaces, dict):
            raise ValueError("it has no workspaces")  # noqa: TRY004  # it is the file that is wrong
        return workspaces


def _names_aside(path: Path) -> Iterator[Path]:
    yield path.with_name(f"{path.name}.damaged")
    yield from (path.with_name(f"{path.name}.damaged-{number}") for number in count(2))


def _approvals(entry: Any) -> Iterator[Approval]:
    """The approvals in one workspace's entry; what is not understood is left out."""
    if not isinstance(entry, dict):
        return
    if entry.get("edits") is True:
        yield WorkspaceEdits()
    for command in _strings(entry.get("commands")):
        yield ExactCommand(command)
    for path in _strings(entry.get("read")):
        yield ExactPath("read", path)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))


def _plain(approvals: set[Approval]) -> dict[str, Any]:
    return {
        "edits": WorkspaceEdits() in approvals,
        "commands": sorted(each.command for each in approvals if isinstance(each, ExactCommand)),
        # Writing outside the workspace is never remembered beyond a session.
        "read": sorted(each.path for each in approvals if isinstance(each, ExactPath) and each.access == "read"),
    }
