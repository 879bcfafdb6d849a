"""Files that are written as a whole: their old or their new content, whenever the process ends or the disk fails.

The new content is written beside the file and then given its name. What a killed process left beside it is deleted by
the next write into that directory.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agent_ls.disk.files import PRIVATE_FILE, Files

_TEMPORARY: Final = re.compile(r"\.[0-9a-f]{16}\.agent-ls")
_AS_THE_UMASK_SAYS: Final = 0o666


def write_whole(path: Path, data: bytes, files: Files, *, mode: int | None = PRIVATE_FILE) -> None:
    """Make `data` the content of `path` (a symlink there is replaced), with this mode; None: as the umask says.

    Its bytes are on the disk, its name is after `Files.sync_directory`. Raises OSError; then the file is as it was.
    """
    _delete_abandoned(path.parent, files)
    temporary, descriptor = _begin(path.parent, files, _AS_THE_UMASK_SAYS if mode is None else PRIVATE_FILE)
    try:
        try:
            write_all(descriptor, data, files)
            if mode is not None:
                files.set_mode(descriptor, mode)
            files.sync(descriptor)
            files.replace(temporary, path)
        finally:
            files.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):  # gone already, or left for the next write
            files.unlink(temporary)
        raise


def write_all(descriptor: int, data: bytes, files: Files) -> None:
    """Append all of `data`, however little one write takes. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[files.write(descriptor, rest) :]


def _begin(directory: Path, files: Files, mode: int) -> tuple[Path, int]:
    while True:
        temporary = directory / f".{secrets.token_hex(8)}.agent-ls"
        descriptor = files.open(temporary, create=True, exclusive=True, mode=mode)
        files.claim(descriptor)
        with contextlib.suppress(FileNotFoundError):
            if files.stands_at(descriptor, temporary):
                return temporary, descriptor
        # Another writer took it for abandoned before it was claimed.
        files.close(descriptor)


def _delete_abandoned(directory: Path, files: Files) -> None:
    for temporary in _temporaries(directory):
        with contextlib.suppress(OSError):  # another time; one that is not ours must not keep the next
            descriptor = files.open(temporary, create=False)
            try:
                if files.claim(descriptor):
                    files.unlink(temporary)
            finally:
                files.close(descriptor)


def _temporaries(directory: Path) -> Sequence[Path]:
    try:
        with os.scandir(directory) as entries:
            return [
                directory / entry.name
                for entry in entries
                if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            ]
    except OSError:  # another time
        return ()
