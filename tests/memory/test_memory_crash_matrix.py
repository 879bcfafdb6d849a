"""A line for MEMORY.md, with a kill, a power cut or a refusal at every single file operation."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from attrs import frozen

from agent_ls.memory.clip import Caps
from agent_ls.memory.disk import Disk
from agent_ls.memory.store import MemoryStore
from agent_ls.memory.write_back import Done, Pending, write_back
from agent_ls.protocol import SessionId
from tests.disk.faulty_files import REFUSALS, Fault, FaultyFiles, Killed
from tests.memory.conftest import ended, model_that

MINE = "Mine, and never to be dropped."
OLD = ["- 2026-11-01: One.", "- 2026-11-02: Two."]
SENTENCE = "Fixed the login test by freezing the clock."
NEW = f"- 2026-12-01: {SENTENCE}"
SESSION = SessionId("a1")
TEMPORARIES = "*.agent-ls"


@frozen
class Found:
    """What stands in the directory."""

    memory: str
    archive: list[str]
    temporaries: int

    @classmethod
    def of(cls, directory: Path) -> Found:
        archive = directory / "memory-archive.md"
        return cls(
            (directory / "MEMORY.md").read_text(),
            archive.read_text().splitlines() if archive.exists() else [],
            len(list(directory.glob(TEMPORARIES))),
        )


BEFORE = "\n".join([MINE, *OLD]) + "\n"
AFTER = "\n".join([MINE, OLD[1], NEW]) + "\n"


def full_memory(directory: Path, files: FaultyFiles) -> MemoryStore:
    """Three lines of three: the next bullet moves the oldest to the archive."""
    directory.mkdir()
    (directory / "MEMORY.md").write_text(BEFORE)
    return MemoryStore(directory, Caps(3, 10_000), Disk(files))


def operations(tmp_path: Path) -> int:
    files = FaultyFiles()
    store = full_memory(tmp_path / "counted", files)
    store.remember_session(SESSION, 2, NEW)
    assert Found.of(store.directory) == Found(AFTER, OLD[:1], 0)
    assert files.count > 20
    return files.count


@pytest.mark.parametrize("fault", ["kills", "kills after half", "cuts the power"])
def test_killed_at_every_operation_the_memory_is_old_or_new_and_the_next_start_finishes(
    tmp_path: Path, fault: Fault
) -> None:
    for at in range(operations(tmp_path)):
        store = full_memory(tmp_path / f"{at}", FaultyFiles(fault, {at}))
        with pytest.raises(Killed):
            store.remember_session(SESSION, 2, NEW)
        left = Found.of(store.directory)
        assert left.memory in (BEFORE, AFTER), f"at operation {at}"
        assert OLD[0] in left.memory or OLD[0] in left.archive, f"at operation {at}"
        again = MemoryStore(store.directory, store.caps)
        assert again.remember_session(SESSION, 2, NEW).line == NEW
        found = Found.of(store.directory)
        assert (found.memory, found.temporaries) == (AFTER, 0), f"at operation {at}"
        assert found.archive.count(OLD[0]) == 1, f"at operation {at}"


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("fault", ["fails", "fails after half"])
@pytest.mark.parametrize("lasting", [False, True])
def test_refused_at_every_operation_nothing_is_lost_and_the_next_try_finishes(
    tmp_path: Path, fault: Fault, refusal: int, lasting: bool
) -> None:
    for at in range(operations(tmp_path)):
        files = FaultyFiles(fault, range(at, 10_000) if lasting else {at}, refusal=refusal)
        store = full_memory(tmp_path / f"{at}", files)
        with suppress(OSError):
            store.remember_session(SESSION, 2, NEW)
        files.steps = range(0)
        left = Found.of(store.directory)
        assert left.memory in (BEFORE, AFTER), f"at operation {at}"
        assert OLD[0] in left.memory or OLD[0] in left.archive, f"at operation {at}"
        assert lasting or left.temporaries == 0, f"at operation {at}"
        assert store.remember_session(SESSION, 2, NEW).line == NEW
        found = Found.of(store.directory)
        assert (found.memory, found.temporaries) == (AFTER, 0), f"at operation {at}"
        assert found.archive.count(OLD[0]) == 1, f"at operation {at}"


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refused_write_back_says_so_in_words_once_and_asks_no_second_sentence(
    tmp_path: Path, refusal: int, caplog: pytest.LogCaptureFixture
) -> None:
    for at in range(operations(tmp_path)):
        caplog.clear()
        files = FaultyFiles("fails", range(at, 10_000), refusal=refusal)
        store = full_memory(tmp_path / f"{at}", files)
        outcome = await write_back(store, ended(), ask=model_that(SENTENCE), enabled=True)
        if isinstance(outcome, Pending):
            assert str(store.directory) in outcome.reason
            assert os.strerror(refusal) in outcome.reason
            assert len([each for each in caplog.records if each.levelname == "WARNING"]) == 1
        files.steps = range(0)
        assert await write_back(store, ended(), ask=model_that(SENTENCE), enabled=True) in (
            Done(NEW),
            Done(NEW, "it was remembered before"),
        )
        assert Found.of(store.directory).memory == AFTER


def test_killed_at_every_operation_a_line_by_hand_is_there_as_a_whole_or_can_be_added_again(tmp_path: Path) -> None:
    files = FaultyFiles()
    full_memory(tmp_path / "counted", files).add_line("- mine too")
    for at in range(files.count):
        store = full_memory(tmp_path / "killed", FaultyFiles("kills after half", {at}))
        with pytest.raises(Killed):
            store.add_line("- mine too")
        again = MemoryStore(store.directory, store.caps)
        was_there = "- mine too" in Found.of(store.directory).memory
        assert again.add_line("- mine too") is not was_there
        assert Found.of(store.directory).memory == "\n".join([MINE, OLD[1], "- mine too"]) + "\n"
        shutil.rmtree(store.directory)
