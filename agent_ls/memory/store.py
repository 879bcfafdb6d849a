"""MEMORY.md on disk: every change under one lock, within the caps, by atomic replace; nothing is destroyed (DESIGN §7).

Order of a change: dropped lines go to `memory-archive.md` first, then the file is replaced. Killed in between, a line
stands in both, and is not archived a second time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import field, frozen
from filelock import FileLock

from agent_ls.memory.clip import Caps, join_lines, split_lines
from agent_ls.memory.disk import Disk
from agent_ls.memory.journal import Journal, Remembered
from agent_ls.memory.memory_file import MemoryFile
from agent_ls.memory.safe_read import MAX_READ_BYTES, FileContent, NotReadable, read_regular_file
from agent_ls.protocol import SessionId

_logger = logging.getLogger(__name__)

MEMORY_NAME: Final = "MEMORY.md"
ARCHIVE_NAME: Final = "memory-archive.md"
_JOURNAL_NAME: Final = "memory-journal.json"
_LOCK_NAME: Final = "memory.lock"
_LOCK_TIMEOUT_SECONDS: Final = 10
"""The lock is held for a few writes, never for a model call."""


@frozen
class MemoryStore:
    """The memory of one workspace. `directory` is its `.agent_ls` (`log.directory.SessionDirectory.root`).

    Blocking; every method may raise OSError, after which the file is as it was (NotReadable: what is there is not a
    file of ours; TimeoutError: another process held the lock for 10 seconds).
    """

    directory: Path
    caps: Caps = field(factory=Caps)
    _disk: Disk = field(factory=Disk)

    @property
    def path(self) -> Path:
        """MEMORY.md."""
        return self.directory / MEMORY_NAME

    @property
    def archive_path(self) -> Path:
        """Where dropped lines are."""
        return self.directory / ARCHIVE_NAME

    def read(self) -> MemoryFile:
        """The file as it is; no file is an empty one."""
        content = _read_whole(self.path)
        return MemoryFile.parse(content.text if content is not None else "")

    def add_line(self, line: str) -> bool:
        """Add one line at the end. False if it stands there already, or if only a person's lines could make room."""
        with self._locked():
            before = self.read()
            after = before.with_line(line).fit(self.caps)
            if after.file == before or any(dropped not in before.bullets for dropped in after.dropped):
                return False
            self._replace(before, after.file, after.dropped)
            return True

    def remember_session(self, session_id: SessionId, covers: int, line: str | None) -> Remembered:
        """Write a session's bullet exactly once: whatever was killed before, whoever else tries it at the same time.

        `covers` is the log ordinal up to which the line speaks for the session; None: nothing is to be said.
        Returns what stands remembered, which is an earlier line if there was one for as much of the session.
        """
        with self._locked():
            journal = self._finish(self._journal(), session_id)
            if journal.of(session_id).covers < covers:
                if line is None:
                    journal = journal.intend(session_id, covers, None).done(session_id)
                    self._save(journal)
                else:
                    journal = journal.intend(session_id, covers, line)
                    self._save(journal)
                    journal = self._finish(journal, session_id)
            return journal.of(session_id)

    def remembered(self, session_id: SessionId) -> Remembered:
        """What is remembered of a session; a line that was intended and never written is written now."""
        with self._locked():
            return self._finish(self._journal(), session_id).of(session_id)

    def note_failure(self, session_id: SessionId) -> int:
        """Count one more failed attempt to find a sentence for the session; returns how many there were."""
        with self._locked():
            journal = self._journal().failed(session_id)
            self._save(journal)
            return journal.of(session_id).failures

    def replace_bullets(self, snapshot: MemoryFile, bullets: Sequence[str]) -> bool:
        """Put `bullets` in the place of the snapshot's own; False if the file changed in a way that cannot be merged.

        Lines added at the end meanwhile are kept. Bullets that are gone go to the archive.
        """
        with self._locked():
            before = self.read()
            if before.lines[: len(snapshot.lines)] != snapshot.lines:
                return False
            after = snapshot.with_bullets(bullets)
            for line in before.lines[len(snapshot.lines) :]:
                after = after.with_line(line)
            fitted = after.fit(self.caps)
            kept = frozenset(fitted.file.lines)
            gone = (line for line in (*before.lines, *fitted.dropped) if line not in kept)
            self._replace(before, fitted.file, tuple(dict.fromkeys(gone)))
            return True

    def clamp(self) -> int:
        """Drop what is over the caps, oldest bullets first, into the archive. Returns how many lines went."""
        with self._locked():
            before = self.read()
            fitted = before.fit(self.caps)
            self._replace(before, fitted.file, fitted.dropped)
            return len(fitted.dropped)

    def _finish(self, journal: Journal, session_id: SessionId) -> Journal:
        """Write the line that is intended for the session, if there is one."""
        remembered = journal.of(session_id)
        if remembered.written:
            return journal
        if remembered.line is not None and remembered.line not in self._archived():
            before = self.read()
            fitted = before.with_line(remembered.line).fit(self.caps)
            self._replace(before, fitted.file, fitted.dropped)
        journal = journal.done(session_id)
        self._save(journal)
        return journal

    def _replace(self, before: MemoryFile, after: MemoryFile, dropped: Sequence[str]) -> None:
        archived = self._archived() if dropped else frozenset()
        to_archive = [line for line in dropped if line.strip() and line not in archived]
        if to_archive:
            self._disk.append(self.archive_path, _encode(join_lines(to_archive)))
        # The same file, and yet a line dropped: a new bullet was the oldest of a full file.
        if after != before:
            self._disk.replace(self.path, _encode(after.text))
        if dropped:
            _logger.info("%d lines of %s moved to %s", len(dropped), self.path, self.archive_path.name)

    def _archived(self) -> frozenset[str]:
        """The archive's lines. Of one above 4 MB, some 20,000 sessions, only the first are known here."""
        content = read_regular_file(self.archive_path)
        return frozenset(split_lines(content.text)) if content is not None else frozenset()

    def _journal(self) -> Journal:
        content = _read_whole(self.directory / _JOURNAL_NAME)
        return Journal.decode(content.data if content is not None else b"")

    def _save(self, journal: Journal) -> None:
        self._disk.replace(self.directory / _JOURNAL_NAME, journal.encode())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self.directory.is_symlink():
            raise NotReadable(f"{self.directory} is not used: it is a symbolic link")
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(self.directory / _LOCK_NAME, timeout=_LOCK_TIMEOUT_SECONDS, mode=0o600):
            yield


def _read_whole(path: Path) -> FileContent | None:
    content = read_regular_file(path)
    if content is not None and not content.complete:
        raise NotReadable(f"{path} is not used: it is larger than {MAX_READ_BYTES} bytes")
    return content


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
