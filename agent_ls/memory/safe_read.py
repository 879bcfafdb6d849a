"""Reading a file of a workspace that anyone may have written: never blocks, never leaves the workspace, never huge."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from attrs import frozen

MAX_READ_BYTES: Final = 4_000_000
"""What is read of one file at most. Far above any cap, so that a cut can say how much there is."""

_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer does not block the open
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)


class NotReadable(OSError):
    """The file is there and must not or cannot be read; the message says why."""


@frozen
class Stamp:
    """What changes when a file is written or replaced."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """The stamp of a stat."""
        return cls(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


@frozen
class FileContent:
    """A file's first `MAX_READ_BYTES` bytes; `complete` tells whether that is all."""

    data: bytes
    complete: bool
    stamp: Stamp

    @property
    def text(self) -> str:
        """As UTF-8; other bytes survive as surrogate escapes, so that writing the text back restores them."""
        return self.data.decode("utf-8", "surrogateescape")


def read_regular_file(path: Path, *, follow_symlink: bool = False) -> FileContent | None:
    """The content of a regular file; None if there is none. Raises NotReadable for anything else in its place."""
    try:
        descriptor = os.open(path, _FLAGS | (0 if follow_symlink else _NO_FOLLOW))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = "it is a symbolic link" if path.is_symlink() else error.strerror or str(error)
        raise NotReadable(f"{path} is not read: {why}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise NotReadable(f"{path} is not read: it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MAX_READ_BYTES + 1)
    return FileContent(data[:MAX_READ_BYTES], len(data) <= MAX_READ_BYTES, Stamp.of(status))
