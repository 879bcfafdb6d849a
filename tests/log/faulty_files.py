"""The file operations of the log with a fault at a chosen step."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Literal

from agent_ls.log.files import OperatingSystemFiles

Fault = Literal["fails", "fails after half", "kills", "kills after half", "cuts the power"]


class Killed(BaseException):
    """The process died: nothing runs afterwards, and no handler may tidy up."""


class FaultyFiles(OperatingSystemFiles):
    """Real files; operations that change something are counted from 0, and those in `steps` go wrong.

    A failure raises OSError (the disk is full), a kill raises `Killed` there and at every later operation. "after half"
    lets a write put half of its bytes down first. A power cut is a kill that takes all unsynced bytes with it. A
    `merciful` fault spares truncating, so that a failed write can always be taken back.
    """

    def __init__(self, fault: Fault = "fails", steps: range | set[int] = range(0), *, merciful: bool = False) -> None:
        self.merciful = merciful
        self.fault = fault
        self.steps = steps
        self.count = 0
        self.dead = False
        self.synced: dict[int, int] = {}

    def open(self, path: Path, *, create: bool, exclusive: bool = False) -> int:
        self._step()
        descriptor = super().open(path, create=create, exclusive=exclusive)
        self.synced[descriptor] = self.size(descriptor)
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

    def sync_directory(self, directory: Path) -> None:
        self._step()
        super().sync_directory(directory)

    def _goes_wrong(self) -> bool:
        return not self.dead and self.count in self.steps

    def _step(self) -> None:
        wrong = self._goes_wrong()
        self.count += 1
        if self.dead or (wrong and "fails" not in self.fault):
            if "power" in self.fault:
                for descriptor, length in self.synced.items():
                    super().truncate(descriptor, length)
            self.dead = True
            raise Killed
        if wrong:
            raise OSError(errno.ENOSPC, "No space left on device")


class ShortWrites(OperatingSystemFiles):
    """Every write puts down a few bytes only."""

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        return super().write(descriptor, data[:7])
