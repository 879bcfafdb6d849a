"""MEMORY.md on disk: exactly once, nothing destroyed, whoever else writes and whenever the process dies."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agent_ls.memory.clip import Caps
from agent_ls.memory.journal import Journal, Remembered
from agent_ls.memory.memory_file import MemoryFile
from agent_ls.memory.safe_read import MAX_READ_BYTES, NotReadable
from agent_ls.memory.store import MemoryStore
from agent_ls.protocol import SessionId

A, B = SessionId("a1"), SessionId("b2")
LINE = "- 2026-12-01: Fixed the login test."


def small(store: MemoryStore, lines: int) -> MemoryStore:
    return MemoryStore(store.directory, Caps(lines, 10_000))


def archived(store: MemoryStore) -> list[str]:
    return store.archive_path.read_text("utf-8").splitlines() if store.archive_path.exists() else []


def test_a_session_is_remembered_once(store: MemoryStore) -> None:
    store.remember_session(A, 2, LINE)
    again = store.remember_session(A, 2, "- 2026-12-01: Something else.")
    assert again == Remembered(covers=2, line=LINE)
    assert store.path.read_text("utf-8") == f"{LINE}\n"


def test_a_session_that_went_on_is_remembered_again(store: MemoryStore) -> None:
    store.remember_session(A, 2, LINE)
    store.remember_session(A, 8, "- 2026-12-02: Fixed the logout test.")
    assert len(store.read().lines) == 2


def test_a_session_without_a_sentence_is_done_and_writes_no_file(store: MemoryStore) -> None:
    assert store.remember_session(A, 2, None).covers == 2
    assert not store.path.exists()


def test_files_are_private(store: MemoryStore) -> None:
    small(store, 1).remember_session(A, 2, LINE)
    small(store, 1).remember_session(B, 2, "- 2026-12-02: Another.")
    assert archived(store) == [LINE]
    for path in store.directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700


def test_what_a_person_wrote_stays_byte_by_byte(store: MemoryStore) -> None:
    store.directory.mkdir()
    by_person = b"\xef\xbb\xbf# Notes\r\n\xff\xfe not text\n\n  - nested\xe2\x80\xa8line"
    store.path.write_bytes(by_person)
    store.remember_session(A, 2, LINE)
    assert store.path.read_bytes() == by_person + b"\n" + LINE.encode() + b"\n"


def test_a_line_without_change_leaves_the_file_untouched(store: MemoryStore) -> None:
    store.directory.mkdir()
    store.path.write_bytes(LINE.encode())  # no newline at the end, and that stays so
    store.remember_session(A, 2, LINE)
    assert store.path.read_bytes() == LINE.encode()


def test_fault_46_dropped_lines_are_in_the_archive_and_it_is_said(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    three = small(store, 3)
    for day in range(1, 6):
        three.remember_session(SessionId(f"s{day}"), 1, f"- 2026-12-0{day}: Day {day} was done.")
    assert store.read().lines == tuple(f"- 2026-12-0{day}: Day {day} was done." for day in (3, 4, 5))
    assert archived(store) == [f"- 2026-12-0{day}: Day {day} was done." for day in (1, 2)]
    assert "1 lines of" in caplog.text


def test_a_torn_line_in_the_archive_spoils_no_other(store: MemoryStore) -> None:
    store.directory.mkdir()
    store.archive_path.write_bytes(b"- 2026-01-01: torn off in the mid")
    store.path.write_text(f"{LINE}\n- 2026-12-02: Newer.\n")
    small(store, 1).clamp()
    assert archived(store) == ["- 2026-01-01: torn off in the mid", LINE]


def test_nothing_is_dropped_if_the_archive_cannot_be_written(store: MemoryStore) -> None:
    store.directory.mkdir()
    store.archive_path.mkdir()
    store.path.write_text(f"{LINE}\n- 2026-12-02: Newer.\n")
    with pytest.raises(OSError, match="archive"):
        small(store, 1).clamp()
    assert len(store.read().lines) == 2


def test_a_symlink_for_a_memory_file_is_neither_read_nor_followed(store: MemoryStore, tmp_path: Path) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("private\n")
    store.directory.mkdir()
    store.path.symlink_to(secret)
    with pytest.raises(NotReadable, match="symbolic link"):
        store.remember_session(A, 2, LINE)
    assert secret.read_text() == "private\n"


def test_a_symlink_for_the_directory_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    store.directory.symlink_to(elsewhere)
    with pytest.raises(NotReadable):
        store.add_line("- a")
    assert not list(elsewhere.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_block(store: MemoryStore) -> None:
    store.directory.mkdir()
    os.mkfifo(store.path)
    with pytest.raises(NotReadable, match="not a regular file"):
        store.read()


def test_a_file_too_large_to_read_whole_is_left_alone(store: MemoryStore) -> None:
    store.directory.mkdir()
    with store.path.open("wb") as file:
        file.truncate(MAX_READ_BYTES + 1)
    with pytest.raises(NotReadable, match="larger"):
        store.clamp()
    assert store.path.stat().st_size == MAX_READ_BYTES + 1


def test_a_damaged_journal_starts_anew(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    store.directory.mkdir()
    (store.directory / "memory-journal.json").write_text('{"sessions": {"a1": {"covers": "x"}}}')
    assert store.remember_session(A, 2, LINE).line == LINE
    assert "damaged" in caplog.text


def test_the_journal_is_read_back_as_it_was_and_forgets_the_oldest() -> None:
    journal = Journal()
    for number in range(600):
        journal = journal.intend(SessionId(f"s{number}"), number + 1, "- x").done(SessionId(f"s{number}"))
    read = Journal.decode(journal.encode())
    assert len(read.sessions) == 500
    assert read.of(SessionId("s599")) == journal.of(SessionId("s599"))
    assert read.of(SessionId("s0")).covers == 0


def test_a_line_by_hand_never_drops_what_a_person_wrote(store: MemoryStore) -> None:
    two = small(store, 2)
    assert two.add_line("- mine")
    assert not two.add_line("- mine")
    two.remember_session(A, 2, LINE)
    assert two.add_line("- mine too")
    assert store.read().lines == ("- mine", "- mine too")
    assert archived(store) == [LINE]
    assert not two.add_line("- and this")
    assert store.read().lines == ("- mine", "- mine too")


def test_replacing_bullets_keeps_lines_added_meanwhile_and_archives_what_went(store: MemoryStore) -> None:
    store.directory.mkdir()
    store.path.write_text("# Notes\n- 2026-12-01: One.\n- 2026-12-02: Two.\n")
    snapshot = store.read()
    store.remember_session(A, 2, "- 2026-12-03: Three.")
    assert store.replace_bullets(snapshot, ["- 2026-12-02: One and two."])
    assert store.read().lines == ("# Notes", "- 2026-12-02: One and two.", "- 2026-12-03: Three.")
    assert archived(store) == ["- 2026-12-01: One.", "- 2026-12-02: Two."]


def test_replacing_bullets_gives_way_to_a_person_s_edit(store: MemoryStore) -> None:
    store.directory.mkdir()
    store.path.write_text("- 2026-12-01: One.\n- 2026-12-02: Two.\n")
    snapshot = store.read()
    store.path.write_text("- 2026-12-01: One, as I see it.\n- 2026-12-02: Two.\n")
    assert not store.replace_bullets(snapshot, ["- 2026-12-02: One and two."])
    assert "as I see it" in store.path.read_text()


def test_a_compressed_line_is_not_written_again_by_a_late_finish(store: MemoryStore) -> None:
    """Killed after MEMORY.md was replaced, before it was noted; then another server compressed the line away."""
    store.remember_session(B, 1, "- 2026-12-02: Two.")
    store.remember_session(A, 1, LINE)
    journal = store.directory / "memory-journal.json"
    journal.write_bytes(Journal.decode(journal.read_bytes()).intend(A, 1, LINE).encode())
    store.replace_bullets(store.read(), ["- 2026-12-02: Two and the login test."])
    assert store.remembered(A).written
    assert store.read() == MemoryFile(["- 2026-12-02: Two and the login test."])


def test_a_late_bullet_that_is_the_oldest_of_a_full_file_goes_to_the_archive(store: MemoryStore) -> None:
    one = small(store, 1)
    one.remember_session(B, 1, "- 2026-12-09: Newer.")
    assert one.remember_session(A, 1, LINE).line == LINE
    assert one.read().lines == ("- 2026-12-09: Newer.",)
    assert archived(one) == [LINE]
