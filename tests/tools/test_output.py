"""Every result is bounded on entry (FAULTS 44)."""

import base64
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.tools.output import Bounds, LongOutputs
from tests.tools.conftest import Bench


async def test_fault_44_a_million_characters_of_base64_enter_as_a_note(bench: Bench) -> None:
    (bench.workspace / "blob.txt").write_text(base64.b64encode(os.urandom(750_000)).decode())
    bench.mode("bypass")
    result = await bench.call("run_command", command="cat blob.txt")
    assert len(result.content) < 1_000
    assert "encoded data" in result.content
    read = await bench.call("read_file", path="blob.txt")
    assert len(read.content) < 1_000


async def test_fault_44_base64_in_lines_takes_a_token_a_character(bench: Bench) -> None:
    (bench.workspace / "blob.txt").write_text(base64.encodebytes(os.urandom(300_000)).decode())
    bench.mode("bypass")
    bench.window = 100_000
    assert len((await bench.call("run_command", command="cat blob.txt")).content) < 11_000
    assert len((await bench.call("read_file", path="blob.txt")).content) < 11_000


async def test_a_long_file_is_read_in_parts_that_join(bench: Bench) -> None:
    bench.window = 20_000
    (bench.workspace / "long.txt").write_text("".join(f"line {number}\n" for number in range(2_000)))
    first = await bench.call("read_file", path="long.txt")
    assert "left out" not in first.content
    shown = first.content.count("\tline ")
    assert f"offset={shown} to continue" in first.content
    second = await bench.call("read_file", path="long.txt", offset=shown)
    assert f"\tline {shown}\n" in second.content


async def test_a_binary_file_is_described(bench: Bench) -> None:
    (bench.workspace / "program").write_bytes(b"\x7fELF" + bytes(100_000))
    result = await bench.call("read_file", path="program")
    assert "Binary file" in result.content
    assert len(result.content) < 1_000


async def test_a_picture_is_not_sent_to_a_model_that_cannot_see(bench: Bench) -> None:
    (bench.workspace / "a.pdf").write_bytes(b"%PDF-1.7 " + bytes(50))
    result = await bench.call("read_file", path="a.pdf")
    assert "cannot be shown it" in str(result.content)


def test_a_text_kept_twice_has_two_names(tmp_path: Path) -> None:
    first, second = LongOutputs(tmp_path), LongOutputs(tmp_path)
    bounds = Bounds.of_window(1_000)
    first.bound("a b " * 1_000, bounds)
    second.bound("c d " * 1_000, bounds)
    assert first.read("output-1") == "a b " * 1_000
    assert first.read("output-2") == "c d " * 1_000
    assert first.read("output-../output-1") is None


def test_a_directory_that_cannot_be_written_costs_only_the_rest(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    bounded = LongOutputs(blocked / "outputs").bound("a b " * 1_000, Bounds.of_window(1_000))
    assert "could not be kept" in bounded
    assert len(bounded) < 1_200


def test_kept_texts_are_private(tmp_path: Path) -> None:
    directory = tmp_path / "outputs"
    LongOutputs(directory).bound("a b " * 1_000, Bounds.of_window(1_000))
    assert directory.stat().st_mode & 0o077 == 0
    assert (directory / "output-1.txt").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("depth", [0, 1])
def test_fault_52_directories_that_a_repository_brought_as_links_are_not_used(tmp_path: Path, depth: int) -> None:
    elsewhere = tmp_path / "elsewhere"
    directory = tmp_path / "outputs" / "session"
    kept = LongOutputs(elsewhere if depth else elsewhere / "session")
    kept.bound("a b " * 1_000, Bounds.of_window(1_000))
    link = directory if depth else directory.parent
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)
    outputs = LongOutputs(directory)
    assert outputs.read("output-1") is None
    assert "could not be kept" in outputs.bound("c d " * 1_000, Bounds.of_window(1_000))
    with pytest.raises(OSError, match="symbolic link"):
        outputs.delete()
    assert [path.name for path in kept.directory.iterdir()] == ["output-1.txt"]


def test_fault_52_a_file_that_a_repository_brought_as_a_link_or_a_fifo_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("canary")
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "output-1.txt").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "outputs" / "output-2.txt")
    outputs = LongOutputs(tmp_path / "outputs")
    assert outputs.read("output-1") is None
    assert outputs.read("output-2") is None
    outputs.delete()
    assert (tmp_path / "secret").read_text() == "canary"


@given(st.text(max_size=4_000), st.integers(1, 100_000))
def test_what_fits_is_unchanged_and_nothing_gets_much_longer(text: str, window: int) -> None:
    outputs = LongOutputs(Path("/nonexistent/outputs"))
    bounds = Bounds.of_window(window)
    bounded = outputs.bound(text, bounds)
    bounded.encode()
    if len(text) <= bounds.characters_for(text) and "[…" not in bounded:
        assert bounded == text.encode("utf-8", "replace").decode()
    assert len(bounded) <= bounds.characters + 200
