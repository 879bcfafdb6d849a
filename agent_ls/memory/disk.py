"""How a memory's files reach the disk: replaced as a whole, or lines added at the end."""

from __future__ import annotations

from pathlib import Path

from attrs import field, frozen

from agent_ls.disk.files import Files, OperatingSystemFiles
from agent_ls.disk.whole_file import write_all, write_whole


@frozen
class Disk:
    """Files are private (0600); a symlink in a file's place is replaced or refused, never followed."""

    files: Files = field(factory=OperatingSystemFiles)

    def replace(self, path: Path, data: bytes) -> None:
        """Make `data` the file's content, all of it or, whatever happens, none; on disk when this returns.

        Raises OSError; only the disk's refusal to make a new name last comes after the change.
        """
        write_whole(path, data, self.files)
        self.files.sync_directory(path.parent)

    def append(self, path: Path, data: bytes) -> None:
        """Add whole lines to the end of the file, behind a newline if the last one was torn; on disk afterwards.

        Raises OSError; then a part of them may stand there.
        """
        descriptor = self.files.open(path, create=True)
        try:
            size = self.files.size(descriptor)
            if size and self.files.read(descriptor, 1, size - 1) != b"\n":
                data = b"\n" + data
            write_all(descriptor, data, self.files)
            self.files.sync(descriptor)
        finally:
            self.files.close(descriptor)
        self.files.sync_directory(path.parent)
