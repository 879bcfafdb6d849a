"""The file operations of everything that is written, with a fault at a chosen step."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Literal

from agent_ls.disk.files import PRIVATE_FILE, OperatingSystemFiles

Fault = Literal["fails", "fails after half", "kills", "kills after half", "cuts the power"]

REFUSALS = (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO)
"""What a disk says that is full, read-only, forbidden, broken."""


class Killed(BaseException):
    """The process died: nothing runs afterwards, and no handler may tidy up."""


class FaultyFiles(OperatingSystemFiles):
    """Real files; operations that change something are counted from 0, and those in `steps` go wrong.

    A failure raises OSError (`refusal`), a kill raises `Killed` there and at every later operation. "after half"
    lets a write put half of its bytes down first. A power cut is a kill that takes all that was not synced with it:
    bytes, new names and replaced ones. A `merciful` fault spares truncating, so that a failed write can always be
    taken back.
    """

    def __init__(
        self,
        fault: Fault = "fails",
        steps: range | set[int] = range(0),
        *,
        merciful: bool = False,
        refusal: int = errno.ENOSPC,
    ) -> None:
        self.merciful = merciful
        self.fault = fault
        self.steps = steps
        self.refusal = refusal
        self.count = 0
        self.dead = False
        self.synced: dict[int, int] = {}
        self.renamed: list[tuple[Path, bytes | None]] = []
        """Names that are not on the disk yet, and what they named there; None: nothing."""

    def open(self, path: Path, *, create: bool, exclusive: bool = False, mode: int = PRIVATE_FILE) -> int:
        self._step()
        new = not path.exists()
        descriptor = super().open(path, create=create, exclusive=exclusive, mode=mode)
        self.synced[descriptor] = self.size(descriptor)
        if new:
            self.renamed.append((path, None))
        return descriptor

    def close(self, descriptor: int) -> None:
        self.synced.pop(descriptor, None)
        super().close(descriptor)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        if self._goes_wrong() and "half" in self.fault:
            super().write(descriptor, data[: len(data) // 2])
        self._step()
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        self._step()
        super().sync(descriptor)
        self.synced[descriptor] = self.size(descriptor)

    def truncate(self, descriptor: int, length: int) -> None:
        if not self.merciful or self.dead:
            self._step()
        super().truncate(descriptor, length)

    def set_mode(self, descriptor: int, mode: int) -> None:
        self._step()
        super().set_mode(descriptor, mode)

    def replace(self, source: Path, target: Path) -> None:
        self._step()
        before = target.read_bytes() if target.exists() else None
        super().replace(source, target)
        self.renamed.append((target, before))

    def unlink(self, path: Path) -> None:
        self._step()
        super().unlink(path)

    def make_directory(self, path: Path) -> None:
        self._step()
        super().make_directory(path)

    def sync_directory(self, directory: Path) -> None:
        self._step()
        super().sync_directory(directory)
        self.renamed = [(path, before) for path, before in self.renamed if path.parent != directory]

    def _goes_wrong(self) -> bool:
        return not self.dead and self.count in self.steps

    def _step(self) -> None:
        wrong = self._goes_wrong()
        self.count += 1
        if self.dead or (wrong and "fails" not in self.fault):
            if "power" in self.fault and not self.dead:
                self._lose_what_is_not_synced()
            self.dead = True
            raise Killed
        if wrong:
            raise OSError(self.refusal, os.strerror(self.refusal))

    def _lose_what_is_not_synced(self) -> None:
        for descriptor, length in self.synced.items():
            super().truncate(descriptor, length)
        for path, before in reversed(self.renamed):
            if before is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(before)


class ShortWrites(OperatingSystemFiles):
    """Every write puts down a few bytes only."""

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        return super().write(descriptor, data[:7])
