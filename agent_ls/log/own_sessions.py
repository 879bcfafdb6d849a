"""Which sessions a person began: their ids, one a line, in the user's data directory, where no repository can write.

A log lies in its workspace, so a repository can bring one: a conversation in which "you" ordered all kinds of things.
Such a session is listed, marked, and opened when a person picks it; nothing opens it by itself, or asks a model about
it (docs/adr/0011-sessions-begun-elsewhere.md).
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

import platformdirs
from attrs import frozen

from agent_ls.disk.files import PRIVATE_FILE
from agent_ls.protocol import SessionId

_logger = logging.getLogger(__name__)

_NAME: Final = "own-sessions"
_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


@frozen
class OwnSessions:
    """The ids in one file. Several servers add to it at once: each id is one write at its end."""

    file: Path

    @classmethod
    def of_this_user(cls) -> OwnSessions:
        """The one in the user's data directory."""
        return cls(platformdirs.user_data_path("agent-ls", appauthor=False) / _NAME)

    def ids(self) -> frozenset[SessionId]:
        """All ids noted so far. A file that cannot be read notes none."""
        try:
            text = self.file.read_text("ascii", "replace")
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            _logger.warning("%s cannot be read, so every session counts as begun elsewhere: %s", self.file, error)
            return frozenset()
        return frozenset(map(SessionId, text.split()))

    def add(self, session_id: SessionId) -> None:
        """Note one. Where that fails the session counts as begun elsewhere from the next start on; never raises."""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.file, _APPEND, PRIVATE_FILE)
            try:
                # A line of its own also behind one that a kill or a full disk cut.
                os.write(descriptor, f"\n{session_id}\n".encode("ascii"))
            finally:
                os.close(descriptor)
        except OSError as error:
            _logger.warning("session %s cannot be noted as begun here: %s", session_id, error)
