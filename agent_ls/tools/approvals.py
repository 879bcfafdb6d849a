"""What a person allowed for good in a workspace, in the user's own directory: a repository cannot bring approvals.

One JSON file for all workspaces, `permissions.json`, replaced atomically under a lock.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import platformdirs
from attrs import define, field, frozen
from filelock import FileLock, Timeout

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
    _known: frozenset[Approval] = field(init=False, default=frozenset())
    _stamp: tuple[int, int, int] | None = field(init=False, default=None)

    def load(self) -> frozenset[Approval]:
        """What is allowed now; another server's additions count from their writing on."""
        stamp = self._stamp_now()
        if stamp != self._stamp:
            self._stamp = stamp
            self._known = frozenset(_approvals(self._read().get(str(self.workspace), {})))
        return self._known

    def add(self, approval: Approval) -> None:
        """Remember `approval`. A failed write is logged: the answer then holds for the session only."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock", timeout=_LOCK_TIMEOUT_SECONDS):
                workspaces = dict(self._read())
                known = set(_approvals(workspaces.get(str(self.workspace), {})))
                workspaces[str(self.workspace)] = _plain(known | {approval})
                _replace(self.path, json.dumps({"version": 1, "workspaces": workspaces}, indent=2) + "\n")
        except (OSError, Timeout, ValueError) as error:
            logger.warning("the answer could not be remembered in %s: %s", self.path, error)

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _read(self) -> Mapping[str, Any]:
        try:
            content = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            logger.warning("no approvals are used, as %s cannot be read: %s", self.path, error)
            return {}
        workspaces = content.get("workspaces") if isinstance(content, dict) else None
        return workspaces if isinstance(workspaces, dict) else {}


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


def _replace(path: Path, text: str) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=".permissions-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
