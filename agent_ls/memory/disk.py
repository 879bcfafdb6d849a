"""The file operations a memory is written with: a port, so that a test can end the process between any two."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final, Protocol

_PRIVATE_FILE: Final = 0o600
_APPEND_FLAGS: Final = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_APPEND
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class Disk(Protocol):
    """What the store asks of the operating system. Every method raises OSError when it fails."""

    def replace(self, path: Path, data: bytes) -> None:
        """Make `data` the file's content, all of it or, whatever happens, none; on disk when this returns."""

    def append(self, path: Path, data: bytes) -> None:
        """Add whole lines to the end of the file, behind a newline if the last one was torn; on disk afterwards."""


class OperatingSystemDisk:
    """The real one. Files are private (0600); a symlink in a file's place is replaced or refused, never followed."""

    def replace(self, path: Path, data: bytes) -> None:
        """See `Disk.replace`."""
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(temporary, flags, _PRIVATE_FILE)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def append(self, path: Path, data: bytes) -> None:
        """See `Disk.append`."""
        with os.fdopen(os.open(path, _APPEND_FLAGS, _PRIVATE_FILE), "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    data = b"\n" + data
            file.seek(0, os.SEEK_END)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
