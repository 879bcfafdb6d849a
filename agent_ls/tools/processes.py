"""The processes a session's commands start, and how the last of them is ended (FAULTS 50).

Each command runs in a process group of its own, which is killed when it is cancelled or takes too long. What leaves
the group (`setsid`, daemons) is found by a mark in its environment, where the platform shows environments (`/proc`).
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import field, frozen

from agent_ls.protocol import SessionId
from agent_ls.redaction import is_secret_name, secret_values

_MARK: Final = "AGENT_LS_CHILD_OF"
_PROC: Final = Path("/proc")
_ROUNDS: Final = 3
"""A process that forks while the list is read is found in the next round."""

_PR_SET_DUMPABLE: Final = 4
_OWNER: Final = re.compile(r"(?P<namespace>[^/]*)/(?P<server>\d+):")


def command_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` without anything that is or holds a key, and set up for a command nobody can answer.

    A variable is left out by its name, or because its value contains the value of one that is.
    """
    secrets = secret_values(environment)
    kept = {
        name: value
        for name, value in environment.items()
        if not is_secret_name(name) and not any(secret in value for secret in secrets)
    }
    return kept | {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def hide_own_environment() -> None:
    """Keep `/proc/<this server>/environ`, with the provider keys, from commands of the same user (Linux, not root).

    It also keeps debuggers of the same user away, and core dumps off the disk; ssh-agent does the same.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


@frozen
class ChildProcesses:
    """The processes started for one session by this server."""

    session_id: SessionId
    _numbers: Iterator[int] = field(factory=lambda: itertools.count(1), init=False, eq=False, repr=False)

    def new_mark(self) -> Mapping[str, str]:
        """What the environment of one more command must hold for it and its children to be found again."""
        return {_MARK: f"{self._session_mark}{next(self._numbers)}"}

    def kill(self, mark: Mapping[str, str] | None = None) -> int:
        """SIGKILL every process of the session, or of the command with `mark`; how many there were.

        Zero where there is no `/proc`, as there only process groups can be killed.
        """
        killed: set[int] = set()
        for _ in range(_ROUNDS):
            found = set(self.running(mark)) - killed
            if not found:
                break
            for process in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
            killed |= found
        return len(killed)

    def running(self, mark: Mapping[str, str] | None = None) -> Iterator[int]:
        """The ids of the processes of the session, or of the command with `mark`, that run now."""
        wanted = f"{mark[_MARK]}\0" if mark is not None else self._session_mark
        return (process for process, mark in _marked() if f"{mark}\0".startswith(wanted))

    @property
    def _session_mark(self) -> str:
        return f"{_pid_namespace()}/{os.getpid()}:{self.session_id}:"


def end_orphans() -> int:
    """SIGKILL what the commands of servers that are gone have left behind (a server that was killed itself).

    How many there were. Call it when a session begins; another server's children are left alone.
    """
    here = _pid_namespace()
    ended = 0
    for process, mark in _marked():
        owner = _OWNER.match(mark)
        if owner is not None and owner["namespace"] == here and not (_PROC / owner["server"]).exists():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
                ended += 1
    return ended


def _marked() -> Iterator[tuple[int, str]]:
    """Every process of any session of any server, with its mark."""
    start = f"\0{_MARK}=".encode()
    try:
        names = os.listdir(_PROC)  # noqa: PTH208  # names are what is needed, thousands of them
    except OSError:
        return
    for name in names:
        if name.isdigit() and int(name) != os.getpid():
            _, found, rest = _environment_of(name).partition(start)
            if found:
                yield int(name), rest.partition(b"\0")[0].decode("utf-8", "replace")


def _environment_of(process: str) -> bytes:
    try:
        return b"\0" + (_PROC / process / "environ").read_bytes()
    except OSError:  # gone meanwhile, or another user's
        return b""


def _pid_namespace() -> str:
    """What tells the process ids of this container from those of another."""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115  # no file has this name
    except OSError:
        return ""
