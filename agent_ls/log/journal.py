"""A session's log as its history sees it: opened when there is a line to write; what cannot be written waits."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from attrs import define, field, frozen

from agent_ls.disk.files import Files, OperatingSystemFiles
from agent_ls.errors import LogUnwritable, SessionLocked
from agent_ls.log.entries import Header, MessagesEntry, WritableEntry
from agent_ls.log.lines import Span
from agent_ls.log.writer import SessionLog, unreadable

_logger = logging.getLogger(__name__)


@frozen
class Written:
    """An entry that reached the log, and its line."""

    entry: WritableEntry
    span: Span


@define
class Journal:
    """The queue of entries in front of one log. Entries reach the log in the order they were added, or not at all."""

    path: Path
    length: int = 0
    """The bytes of the log that this session knows of."""
    unsaved_reason: str | None = None
    """Why the last write failed, in words; None while everything is saved."""
    _files: Files = field(factory=OperatingSystemFiles)
    _log: SessionLog | None = None
    _waiting: deque[WritableEntry] = field(factory=deque)
    _closed: bool = False
    _one_at_a_time: threading.RLock = field(init=False, factory=threading.RLock)
    """A durable line is written in a thread; meanwhile the event loop may want to read an earlier one."""

    @classmethod
    def create(cls, path: Path, header: Header, files: Files | None = None) -> Journal:
        """The journal of a new session; the log is made with the first entry that is added."""
        journal = cls(path, files=files or OperatingSystemFiles())
        journal._waiting.append(header)
        return journal

    @classmethod
    def open(cls, path: Path, files: Files | None = None) -> Journal:
        """The journal of an existing log, locked; unsaved from the start if it cannot be written.

        Raises SessionNotFound and SessionLocked.
        """
        journal = cls(path, files=files or OperatingSystemFiles())
        try:
            journal._log = SessionLog.open(path, journal._files)
            journal.length = journal._log.length
        except LogUnwritable as error:
            journal._fail(error)
        return journal

    @property
    def waiting(self) -> Sequence[MessagesEntry]:
        """The messages that the log does not hold yet, or holds since a moment ago. Waits for no disk."""
        return [entry for entry in self._waiting.copy() if isinstance(entry, MessagesEntry)]

    def add(self, entry: WritableEntry, *, durable: bool = False) -> list[Written]:
        """Queue `entry` and write all that waits. Never raises: see `unsaved_reason`."""
        self.queue(entry)
        return self.flush(durable=durable)

    def queue(self, entry: WritableEntry) -> None:
        """Let `entry` wait for the next `flush`, behind what waits already."""
        self._waiting.append(entry)

    def flush(self, *, durable: bool = False) -> list[Written]:
        """Write all that waits, with `durable` to the disk. Never raises: see `unsaved_reason`."""
        with self._one_at_a_time:
            written: list[Written] = []
            try:
                log = self._opened()
                if durable and not self._waiting:
                    log.sync()
                while self._waiting:
                    entry = self._waiting[0]
                    span = log.append(entry, durable=durable and len(self._waiting) == 1)
                    written.append(Written(self._waiting.popleft(), span))
                    self.length = log.length
                self.unsaved_reason = None
            except (LogUnwritable, SessionLocked) as error:
                self._fail(error)
            return written

    def commit(self, entry: WritableEntry) -> Span:
        """Write `entry` to the disk, behind everything else. Raises LogUnwritable; then the log holds nothing of it."""
        with self._one_at_a_time:
            if self._waiting:
                raise LogUnwritable(self.unsaved_reason or "Earlier lines of the session log are not written yet.")
            try:
                log = self._opened()
                span = log.append(entry, durable=True)
            except SessionLocked as error:
                raise LogUnwritable(error.message) from error
            self.length = log.length
            return span

    def read(self, span: Span) -> bytes:
        """The bytes of a line. Raises LogUnwritable if they cannot be read."""
        with self._one_at_a_time:
            if self._log is not None:
                return self._log.read(span)
            try:
                with self.path.open("rb") as file:
                    file.seek(span.offset)
                    return file.read(span.length)
            except OSError as error:
                raise unreadable(self.path, error) from error

    def close(self) -> None:
        """Write what waits, sync and let go of the log. Nothing can be written afterwards; reading goes on."""
        with self._one_at_a_time:
            if self._log is not None or self.waiting:
                self.flush(durable=True)
            if self._log is not None:
                self._log.close()
                self._log = None
            self._closed = True

    def _opened(self) -> SessionLog:
        if self._closed:
            raise LogUnwritable(f"The session is closed ({self.path}).")
        if self._log is None:
            log = SessionLog.open(self.path, self._files) if self.length else SessionLog.create(self.path, self._files)
            if log.length != self.length:
                log.close()
                raise LogUnwritable(f"Another agent-ls went on with this session meanwhile ({self.path}).")
            self._log = log
        return self._log

    def _fail(self, error: LogUnwritable | SessionLocked) -> None:
        if self.unsaved_reason != error.message:
            _logger.warning("A session goes on unsaved: %s", error.message)
        self.unsaved_reason = error.message
