"""A slow disk: its wait is nobody else's, and a cancel leaves nothing half way (DESIGN §4)."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from agent_ls.disk.files import OperatingSystemFiles
from agent_ls.disk.off_loop import off_loop
from agent_ls.history import History
from tests.log.strategies import answer, calls, prompt

ONE, CALLS, TWO = prompt("one"), calls("a"), answer("two")


class SlowFiles(OperatingSystemFiles):
    """A disk whose next sync takes until `go_on` is set; `waits` is set while it does."""

    def __init__(self) -> None:
        self.waits = threading.Event()
        self.go_on = threading.Event()

    def sync(self, descriptor: int) -> None:
        self.waits.set()
        assert self.go_on.wait(60)
        super().sync(descriptor)


async def test_the_loop_goes_on_while_the_disk_is_slow(tmp_path: Path) -> None:
    files = SlowFiles()
    history = History.create(tmp_path, files=files)
    history.append(ONE)
    saying = asyncio.ensure_future(history.append_durably(CALLS))
    await asyncio.to_thread(files.waits.wait)
    assert history.messages == (ONE, CALLS)
    assert not saying.done()
    files.go_on.set()
    await saying
    assert [each.message for each in history.originals()] == [ONE, CALLS]


async def test_what_was_said_is_told_once_while_its_line_is_written(tmp_path: Path) -> None:
    files = SlowFiles()
    history = History.create(tmp_path, files=files)
    history.append(ONE)
    saying = asyncio.ensure_future(history.append_durably(TWO))
    for _ in range(2):
        await asyncio.sleep(0)
        assert [each.message for each in history.originals()] == [ONE, TWO]
        await asyncio.to_thread(files.waits.wait)
    files.go_on.set()
    await saying
    assert [each.message for each in history.originals()] == [ONE, TWO]


async def test_a_cancel_while_the_disk_is_slow_waits_for_the_line(tmp_path: Path) -> None:
    files = SlowFiles()
    history = History.create(tmp_path, files=files)
    history.append(ONE)
    saying = asyncio.ensure_future(history.append_durably(TWO))
    await asyncio.to_thread(files.waits.wait)
    saying.cancel()
    saying.cancel()
    await asyncio.sleep(0)
    assert not saying.done()
    files.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await saying
    history.elide([prompt("[blanked]"), TWO])
    assert history.original(0) == ONE
    history.close()
    assert [each.message for each in History.resume(history.path).originals()] == [ONE, TWO]


async def test_what_failed_is_raised_where_it_was_asked_for() -> None:
    def work() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        await off_loop(work, then=lambda _: pytest.fail("it has no result"))
