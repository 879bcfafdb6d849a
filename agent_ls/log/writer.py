"""Appends entries to a session log: whole lines or nothing, one writer, private files (DESIGN §4)."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Final

from attrs import define, field
from filelock import FileLock, Timeout

from agent_ls.disk.files import PRIVATE_FILE, Files, OperatingSystemFiles
from agent_ls.disk.whole_file import write_all
from agent_ls.errors import LogUnwritable, SessionLocked, SessionNotFound
from agent_ls.log.codec import encode
from agent_ls.log.directory import make_again
from agent_ls.log.entries import WritableEntry
from agent_ls.log.lines import Span

_logger = logging.getLogger(__name__)

_COPY_BLOCK: Final = 1 << 20


@define
class SessionLog:
    """A session log open for appending, locked against every other writer until it is closed.

    Not thread-safe: one session has one writer, and that one thread.
    """

    path: Path
    _files: Files
    _lock: FileLock
    _descriptor: int
    _length: int
    _untidy: bool = field(default=False, init=False)
    """A failed write could not be taken back: bytes after `_length` are no lines."""

    @classmethod
    def create(cls, path: Path, files: Files | None = None) -> SessionLog:
        """A new, empty log. Raises LogUnwritable, also if there is one already, and SessionLocked."""
        log = cls._locked(path, files or OperatingSystemFiles(), create=True)
        if log._length:
            log.close()
            raise LogUnwritable(f"There is a session log already: {path}")
        return log

    @classmethod
    def open(cls, path: Path, files: Files | None = None) -> SessionLog:
        """An existing log; a torn tail is moved to a side file, now or, if that fails, before the next line.

        Raises SessionNotFound, SessionLocked, LogUnwritable.
        """
        if not is_regular_file(path):
            raise SessionNotFound(f"There is no session log {path}.")
        return cls._locked(path, files or OperatingSystemFiles(), create=False)

    @classmethod
    def _locked(cls, path: Path, files: Files, *, create: bool) -> SessionLog:
        lock = _acquire(path)
        try:
            descriptor = files.open(path, create=create)
        except OSError as error:
            lock.release()
            raise _unwritable(path, error) from error
        log = cls(path, files, lock, descriptor, 0)
        try:
            log._length = log._end_of_last_line()
            if create:
                files.sync_directory(path.parent)
        except OSError as error:
            log.close()
            raise _unwritable(path, error) from error
        with contextlib.suppress(OSError):  # the disk is full, say: the tail stays until there is a line to write
            log._repair_tail()
        return log

    @property
    def length(self) -> int:
        """The bytes of all complete lines."""
        return self._length

    def append(self, entry: WritableEntry, *, durable: bool = False) -> Span:
        """Write `entry` as one line; with `durable`, return when it is on the disk.

        Raises LogUnwritable, then the file holds no byte of it; SessionLocked if the log was deleted and another
        writer was faster to begin it anew.
        """
        line = encode(entry)
        try:
            self._tidy()
        except OSError as error:
            raise _unwritable(self.path, error) from error
        try:
            self._write(self._descriptor, line)
            if durable:
                self._files.sync(self._descriptor)
        except OSError as error:
            with contextlib.suppress(OSError):  # the next append tries again before it writes
                self._cut()
            raise _unwritable(self.path, error) from error
        span = Span(self._length, len(line) - 1)
        self._length += len(line)
        self._untidy = False
        return span

    def sync(self) -> None:
        """Return when every line is on the disk, under the log's own name. Raises as `append`."""
        try:
            self._tidy()
            self._files.sync(self._descriptor)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def read(self, span: Span) -> bytes:
        """The bytes of a line, also when the file was deleted. Raises LogUnwritable if they cannot be read."""
        try:
            return self._files.read(self._descriptor, span.length, span.offset)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def close(self) -> None:
        """Give the log up; another writer may open it."""
        _close_quietly(self._files, self._descriptor)
        self._lock.release()

    def _write(self, descriptor: int, data: bytes) -> None:
        self._untidy = descriptor == self._descriptor
        write_all(descriptor, data, self._files)

    def _cut(self) -> None:
        self._files.truncate(self._descriptor, self._length)
        self._untidy = False

    def _tidy(self) -> None:
        """Make sure that the next line goes to the end of this session's file, behind a whole line."""
        try:
            ours = self._files.stands_at(self._descriptor, self.path)
        except FileNotFoundError:
            self._restore()
            return
        if not ours:
            raise FileExistsError("another file stands in the place of the session log")
        if self._untidy:
            self._cut()
        size = self._files.size(self._descriptor)
        if size != self._length:
            self._length = self._end_of_last_line()
            self._repair_tail()
            _logger.warning("%s was changed from outside; lines now go after byte %d", self.path, self._length)

    def _restore(self) -> None:
        """Write a deleted log again: its bytes live on behind the open file."""
        if not self.path.parent.exists():
            make_again(self.path.parent, self._files)
        # The lock file is likely gone too; then its name has to be locked anew, for the old inode guards nothing.
        self._lock.release()
        self._lock = _acquire(self.path)
        descriptor = self._files.open(self.path, create=True, exclusive=True)
        try:
            self._copy_to(descriptor)
            self._files.sync(descriptor)
            self._files.sync_directory(self.path.parent)
        except OSError:
            _close_quietly(self._files, descriptor)
            with contextlib.suppress(OSError):
                self.path.unlink()
            raise
        _close_quietly(self._files, self._descriptor)
        self._descriptor = descriptor
        self._untidy = False
        _logger.warning("%s was deleted while the session is open; it is written again", self.path)

    def _copy_to(self, descriptor: int) -> None:
        offset = 0
        while offset < self._length:
            block = self._files.read(self._descriptor, min(_COPY_BLOCK, self._length - offset), offset)
            if not block:
                raise OSError("the deleted log cannot be read any more")
            self._write(descriptor, block)
            offset += len(block)

    def _end_of_last_line(self) -> int:
        end = self._files.size(self._descriptor)
        while end > 0:
            start = max(0, end - _COPY_BLOCK)
            newline = self._files.read(self._descriptor, end - start, start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
        return 0

    def _repair_tail(self) -> None:
        """Cut off what stands after the last line, once its bytes are safe in a side file."""
        size = self._files.size(self._descriptor)
        if size <= self._length:
            return
        torn = self._files.read(self._descriptor, size - self._length, self._length)
        side = self._keep_aside(torn)
        self._cut()
        _logger.warning("%s ended in a torn line; its %d bytes are kept in %s", self.path, len(torn), side)

    def _keep_aside(self, torn: bytes) -> Path:
        side, descriptor = self._new_side_file()
        try:
            self._write(descriptor, torn)
            self._files.sync(descriptor)
            self._files.sync_directory(side.parent)
        finally:
            _close_quietly(self._files, descriptor)
        return side

    def _new_side_file(self) -> tuple[Path, int]:
        number = 1
        while True:
            side = self.path.with_name(f"{self.path.name}.torn-{number}")
            try:
                return side, self._files.open(side, create=True, exclusive=True)
            except FileExistsError:
                number += 1


def delete_log(path: Path) -> None:
    """Delete a log and what belongs to it.

    Raises SessionNotFound, SessionLocked while it is open somewhere, LogUnwritable if it cannot be deleted.
    """
    if not is_regular_file(path):
        raise SessionNotFound(f"There is no session log {path}.")
    lock = _acquire(path)
    try:
        for side in path.parent.glob(f"{path.name}.torn-*"):
            side.unlink()
        path.unlink()
    except OSError as error:
        raise LogUnwritable(f"The session cannot be deleted: {error.strerror or error} ({path})") from error
    finally:
        lock.release()
    with contextlib.suppress(OSError):  # an empty file that guards nothing any more
        _lock_path(path).unlink(missing_ok=True)


def is_regular_file(path: Path) -> bool:
    """Whether `path` is a file itself: no symlink, FIFO or device, which a repository may put in a log's place."""
    return path.is_file() and not path.is_symlink()


def _lock_path(path: Path) -> Path:
    """The file whose lock guards the log at `path`."""
    return path.with_name(f"{path.name}.lock")


def _acquire(path: Path) -> FileLock:
    lock = FileLock(_lock_path(path), timeout=0, mode=PRIVATE_FILE, thread_local=False)
    try:
        lock.acquire()
    except Timeout as held:
        raise SessionLocked(
            "Another agent-ls has this session open.", hint="Close it there, or open a new session here."
        ) from held
    except OSError as error:
        raise _unwritable(path, error) from error
    return lock


def _unwritable(path: Path, error: OSError) -> LogUnwritable:
    return LogUnwritable(f"The session log cannot be written: {error.strerror or error} ({path})")


def unreadable(path: Path, error: OSError) -> LogUnwritable:
    """What to raise when a log cannot even be read."""
    return LogUnwritable(f"The session log cannot be read: {error.strerror or error} ({path})")


def _close_quietly(files: Files, descriptor: int) -> None:
    with contextlib.suppress(OSError):  # every byte that counts was synced or its write has returned
        files.close(descriptor)
