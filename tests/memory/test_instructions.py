"""AGENTS.md and MEMORY.md as they are sent (DESIGN §7): provenance, caps, changes, and files that mean harm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.memory.by_hand import NotRemembered, read_memory, remember
from agent_ls.memory.clip import Caps
from agent_ls.memory.instructions import InstructionReader
from agent_ls.memory.safe_read import MAX_READ_BYTES
from agent_ls.memory.store import MemoryStore

CAPS = Caps()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    (path / "src" / "web").mkdir(parents=True)
    (path / ".agent_ls").mkdir()
    return path


@pytest.fixture
def reader(workspace: Path) -> InstructionReader:
    return InstructionReader(workspace, workspace / ".agent_ls")


def settle(path: Path) -> None:
    """Make a file look as if it had been written long ago, so that it is cached."""
    os.utime(path, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000))


def test_files_from_the_root_to_the_file_s_folder_nearest_last_each_with_its_path(
    workspace: Path, reader: InstructionReader
) -> None:
    (workspace / "AGENTS.md").write_text("Use tabs.\n")
    (workspace / "src" / "web" / "AGENTS.md").write_text("Use blanks here.\n")
    (workspace / ".agent_ls" / "MEMORY.md").write_text("- 2026-12-01: Chose tabs.\n")
    instructions = reader.load(CAPS, workspace / "src" / "web" / "app.ts")
    assert instructions.agents == (
        "# Instructions from AGENTS.md\n\nUse tabs.\n\n# Instructions from src/web/AGENTS.md\n\nUse blanks here."
    )
    assert instructions.memory == (
        "# Notes from earlier sessions in this workspace (.agent_ls/MEMORY.md)\n\n- 2026-12-01: Chose tabs."
    )
    assert instructions.text == f"{instructions.agents}\n\n{instructions.memory}"
    assert [Path(file.path).relative_to(workspace).as_posix() for file in instructions.files] == [
        "AGENTS.md",
        "src/web/AGENTS.md",
        ".agent_ls/MEMORY.md",
    ]
    assert (instructions.files[0].lines, instructions.files[0].bytes) == (1, 10)


def test_nothing_there_is_nothing_sent(workspace: Path, reader: InstructionReader) -> None:
    (workspace / "AGENTS.md").write_text(" \n\n")
    assert reader.load(CAPS).text == ""
    assert not reader.load(CAPS).files


def test_without_a_file_only_the_root_counts(workspace: Path, reader: InstructionReader) -> None:
    (workspace / "src" / "AGENTS.md").write_text("below")
    assert reader.load(CAPS).text == ""
    assert "below" in reader.load(CAPS, workspace / "src" / "web" / "new.ts").text


@pytest.mark.parametrize("outside", ["../other/file.py", "src/../../other/file.py"])
def test_a_file_outside_the_workspace_brings_nothing(workspace: Path, reader: InstructionReader, outside: str) -> None:
    other = workspace.parent / "other"
    other.mkdir()
    (other / "AGENTS.md").write_text("foreign")
    assert reader.load(CAPS, workspace / outside).text == ""


def test_a_linked_folder_leads_nowhere(workspace: Path, reader: InstructionReader) -> None:
    other = workspace.parent / "other"
    other.mkdir()
    (other / "AGENTS.md").write_text("foreign")
    (workspace / "linked").symlink_to(other)
    assert reader.load(CAPS, workspace / "linked" / "file.py").text == ""


@pytest.mark.parametrize("cached", [True, False])
def test_fault_29_an_edit_reaches_the_next_request(workspace: Path, reader: InstructionReader, cached: bool) -> None:
    path = workspace / "AGENTS.md"
    path.write_text("Use tabs.")
    if cached:
        settle(path)
    assert "Use tabs." in reader.load(CAPS).text
    path.write_text("Use null.")  # as long as before
    assert "Use null." in reader.load(CAPS).text
    path.unlink()
    assert reader.load(CAPS).text == ""


def test_fault_29_changed_caps_count_at_once(workspace: Path, reader: InstructionReader) -> None:
    path = workspace / "AGENTS.md"
    path.write_text("one\ntwo\n")
    settle(path)
    reader.load(CAPS)
    assert reader.load(Caps(1, 100)).files[0].lines == 1


def test_a_file_over_a_cap_is_cut_on_a_whole_line_and_the_cut_is_said(
    workspace: Path, reader: InstructionReader
) -> None:
    (workspace / "AGENTS.md").write_text("".join(f"rule {number}\n" for number in range(300)))
    instructions = reader.load(CAPS)
    assert "rule 199" in instructions.text
    assert "rule 200" not in instructions.text
    assert "[Cut: the first 200 of 300 lines, 1,690 of 2,590 bytes; the rest is in AGENTS.md.]" in instructions.text
    (file,) = instructions.files
    assert (file.lines, file.total_lines, file.truncated) == (200, 300, True)


def test_bytes_are_capped_too(workspace: Path, reader: InstructionReader) -> None:
    (workspace / "AGENTS.md").write_text(f"{'é' * 6_000}\n" * 3)
    (file,) = reader.load(CAPS).files
    assert (file.lines, file.bytes) == (2, 24_002)


def test_fault_46_of_a_memory_over_its_caps_the_newest_entries_are_sent_and_it_is_said(
    workspace: Path, reader: InstructionReader
) -> None:
    lines = ["# By hand", *(f"- 2026-{1 + n // 28:02}-{1 + n % 28:02}: entry {n}" for n in range(250))]
    (workspace / ".agent_ls" / "MEMORY.md").write_text("\n".join(lines))
    sent = reader.load(CAPS).memory
    assert "# By hand" in sent
    assert "entry 249" in sent
    assert "entry 50\n" not in sent
    assert "[Cut: the newest 200 of 251 lines" in sent


def test_terminal_escapes_control_and_invisible_characters_are_left_out(
    workspace: Path, reader: InstructionReader
) -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    text = f"\ufeffUse\x1b[2J\x1b]0;title\x07 tabs\x00.{hidden}\u202e\r\n\tand \udcff"
    (workspace / "AGENTS.md").write_bytes(text.encode("utf-8", "surrogateescape"))
    instructions = reader.load(CAPS)
    assert instructions.text == "# Instructions from AGENTS.md\n\nUse tabs.\n\tand \ufffd"


def test_a_link_to_another_document_of_the_workspace_is_followed(workspace: Path, reader: InstructionReader) -> None:
    (workspace / "CLAUDE.md").write_text("Use tabs.")
    (workspace / "AGENTS.md").symlink_to("CLAUDE.md")
    assert "Use tabs." in reader.load(CAPS).text


@pytest.mark.parametrize("target", ["../id_rsa.md", ".env", "/etc/passwd"])
def test_a_link_out_of_the_workspace_or_to_a_secret_is_not_followed_and_said_once(
    workspace: Path, reader: InstructionReader, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    (workspace / ".env").write_text("KEY=1")
    (workspace.parent / "id_rsa.md").write_text("private")
    (workspace / "AGENTS.md").symlink_to(target)
    assert reader.load(CAPS).text == ""
    assert reader.load(CAPS).text == ""
    assert len([record for record in caplog.records if "is not read" in record.message]) == 1


def test_a_linked_memory_file_is_not_followed(workspace: Path, reader: InstructionReader) -> None:
    (workspace / "secret.md").write_text("private")
    (workspace / ".agent_ls" / "MEMORY.md").symlink_to(workspace / "secret.md")
    assert reader.load(CAPS).text == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_or_a_directory_is_left_out(workspace: Path, reader: InstructionReader) -> None:
    os.mkfifo(workspace / "AGENTS.md")
    (workspace / ".agent_ls" / "MEMORY.md").mkdir()
    assert reader.load(CAPS).text == ""


def test_a_huge_file_is_read_in_part_and_said(workspace: Path, reader: InstructionReader) -> None:
    with (workspace / "AGENTS.md").open("wb") as file:
        file.write(b"Use tabs.\n")
        file.truncate(MAX_READ_BYTES * 2)
    instructions = reader.load(CAPS)
    assert "Use tabs." in instructions.text
    assert "of more than" in instructions.text


def test_a_memory_directory_elsewhere_is_named_whole(workspace: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "MEMORY.md").write_text("- 2026-12-01: Chose tabs.\n")
    assert str(elsewhere / "MEMORY.md") in InstructionReader(workspace, elsewhere).load(CAPS).memory


def test_agent_memory_shows_the_file_and_what_is_sent(workspace: Path) -> None:
    store = MemoryStore(workspace / ".agent_ls", Caps(2, 1_000))
    store.path.write_bytes(b"- 2026-12-01: One.\n- 2026-12-02: Two.\n- 2026-12-03: Three \xff.\n")
    result = read_memory(workspace, store)
    assert (result.path, result.lines, result.bytes, result.truncated) == (str(store.path), 3, 61, True)
    assert "One." in result.content
    assert "One." not in result.sent
    assert "Three \ufffd." in result.sent


def test_agent_memory_without_a_file_is_empty(workspace: Path) -> None:
    result = read_memory(workspace, MemoryStore(workspace / ".agent_ls"))
    assert (result.content, result.sent, result.lines, result.bytes, result.truncated) == ("", "", 0, 0, False)


def test_remember_appends_a_line_of_the_person_s_own(store: MemoryStore) -> None:
    assert remember(store, "  - use tabs,\nnever blanks ") == "- use tabs, never blanks"
    assert store.read().written_by_person == ("- use tabs, never blanks",)


@pytest.mark.parametrize("text", ["", " \n", "my key is sk-proj-abcdefghijklmnop1234567890", "x" * 3_000])
def test_remember_refuses_what_must_not_be_there(store: MemoryStore, text: str) -> None:
    with pytest.raises(NotRemembered):
        remember(store, text)
    assert not store.path.exists()


def test_remember_says_so_when_the_line_is_there(store: MemoryStore) -> None:
    remember(store, "use tabs")
    with pytest.raises(NotRemembered, match="already"):
        remember(store, "use tabs")
