"""The file operations everything of ours is written with: a port, so that a test can make any of them fail."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Final, Protocol

with contextlib.suppress(ImportError):  # not on Windows
    import fcntl

PRIVATE_FILE: Final = 0o600
PRIVATE_DIRECTORY: Final = 0o700

_COMMON_FLAGS: Final = (
    os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)


class Files(Protocol):
    """What a writer asks of the operating system. Every method raises OSError when it fails."""

    def open(self, path: Path, *, create: bool, exclusive: bool = False, mode: int = PRIVATE_FILE) -> int:
        """Open for reading and appending, never through a symlink; `exclusive` fails if the file exists.

        A new file gets `mode`, less what the umask takes.
        """

    def size(self, descriptor: int) -> int:
        """The file's length in bytes."""

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """Append some of `data`, at least one byte, and return how many."""

    def read(self, descriptor: int, length: int, offset: int) -> bytes:
        """Up to `length` bytes from `offset`; fewer only at the end of the file."""

    def sync(self, descriptor: int) -> None:
        """Return when the file's bytes are on the disk."""

    def truncate(self, descriptor: int, length: int) -> None:
        """Cut the file to `length` bytes."""

    def sync_directory(self, directory: Path) -> None:
        """Make a new name in `directory` last; does nothing where the platform cannot."""

    def stands_at(self, descriptor: int, path: Path) -> bool:
        """Whether `path` still names the open file. Raises FileNotFoundError when it names nothing."""

    def set_mode(self, descriptor: int, mode: int) -> None:
        """Give the file exactly this mode."""

    def claim(self, descriptor: int) -> bool:
        """Hold the file until it is closed or the process ends. False if another does, or nobody can here."""

    def replace(self, source: Path, target: Path) -> None:
        """Give the file `source` the name `target`, in one step, whatever had it."""

    def unlink(self, path: Path) -> None:
        """Take the name away."""

    def make_directory(self, path: Path) -> None:
        """Make a private directory. Raises FileExistsError if the name is taken."""

    def close(self, descriptor: int) -> None:
        """Close the file."""


class OperatingSystemFiles:
    """The real ones."""

    def open(self, path: Path, *, create: bool, exclusive: bool = False, mode: int = PRIVATE_FILE) -> int:
        """See `Files.open`. A FIFO or device in the file's place does not block."""
        flags = _COMMON_FLAGS | getattr(os, "O_NONBLOCK", 0)
        if create:
            flags |= os.O_CREAT
        if exclusive:
            flags |= os.O_EXCL
        return os.open(path, flags, mode)

    def size(self, descriptor: int) -> int:
        """See `Files.size`."""
        return os.fstat(descriptor).st_size

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """See `Files.write`."""
        return os.write(descriptor, data)

    def read(self, descriptor: int, length: int, offset: int) -> bytes:
        """See `Files.read`."""
        pieces: list[bytes] = []
        while length > 0:
            piece = _read_at(descriptor, length, offset)
            if not piece:
                break
            pieces.append(piece)
            length -= len(piece)
            offset += len(piece)
        return b"".join(pieces)

    def sync(self, descriptor: int) -> None:
        """See `Files.sync`."""
        os.fsync(descriptor)

    def truncate(self, descriptor: int, length: int) -> None:
        """See `Files.truncate`."""
        os.ftruncate(descriptor, length)

    def sync_directory(self, directory: Path) -> None:
        """See `Files.sync_directory`."""
        if not hasattr(os, "O_DIRECTORY"):
            return
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            # Some network and FUSE file systems cannot sync a directory at all; that is no failed write.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
                raise
        finally:
            os.close(descriptor)

    def stands_at(self, descriptor: int, path: Path) -> bool:
        """See `Files.stands_at`."""
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))

    def set_mode(self, descriptor: int, mode: int) -> None:
        """See `Files.set_mode`."""
        os.fchmod(descriptor, mode)

    def claim(self, descriptor: int) -> bool:
        """See `Files.claim`. Some network file systems have no locks."""
        if not hasattr(os, "fork"):
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def replace(self, source: Path, target: Path) -> None:
        """See `Files.replace`."""
        source.replace(target)

    def unlink(self, path: Path) -> None:
        """See `Files.unlink`."""
        path.unlink()

    def make_directory(self, path: Path) -> None:
        """See `Files.make_directory`."""
        path.mkdir(mode=PRIVATE_DIRECTORY)

    def close(self, descriptor: int) -> None:
        """See `Files.close`."""
        os.close(descriptor)


def _read_at(descriptor: int, length: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, length, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, length)
