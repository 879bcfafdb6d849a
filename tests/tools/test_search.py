"""Searching the disk and the editor's unsaved text with one program."""

import os
from pathlib import Path

import pytest

from agent_ls.tools.ripgrep import RipgrepMissing, run_ripgrep
from tests.tools.conftest import Bench


@pytest.fixture
def tree(bench: Bench) -> Bench:
    for name, text in {
        "a.py": "alpha\nneedle one\n",
        "src/b.py": "needle two\n",
        "src/deep/c.txt": "needle three\n",
        "ignored/d.py": "needle ignored\n",
        ".hidden/e.py": "needle hidden\n",
        "server.pem": "needle secret\n",
        ".env": "needle secret\n",
        ".git/config": "needle git\n",
        ".gitignore": "ignored/\n",
    }.items():
        path = bench.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return bench


async def found(bench: Bench, tool: str, **arguments: object) -> list[str]:
    result = await bench.call(tool, **arguments)
    assert result.outcome == "success"
    return str(result.content).splitlines()


async def test_matches_come_with_path_and_line_in_order(tree: Bench) -> None:
    assert await found(tree, "search_files", pattern="needle") == [
        "a.py:2:needle one",
        "src/b.py:1:needle two",
        "src/deep/c.txt:1:needle three",
    ]


async def test_fault_51_a_search_sees_the_unsaved_text_and_not_what_it_replaces(tree: Bench) -> None:
    tree.client.open(tree.workspace / "a.py", "needle unsaved\n")
    tree.client.open(tree.workspace / "src/b.py", "nothing here\n")
    tree.client.open(tree.workspace / "fresh/new.py", "needle never saved\n")
    assert await found(tree, "search_files", pattern="needle") == [
        "a.py:1:needle unsaved",
        "fresh/new.py:1:needle never saved",
        "src/deep/c.txt:1:needle three",
    ]
    assert "fresh/new.py" in await found(tree, "find_files", pattern="*.py")


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**", ["src/b.py", "src/deep/c.txt"]),
        ("**/deep/*", ["src/deep/c.txt"]),
        ("*.{py,txt}", ["a.py", "src/b.py", "src/deep/c.txt"]),
        (".hidden/*.py", [".hidden/e.py"]),
    ],
)
async def test_a_glob_chooses_and_does_not_bring_back_what_is_ignored(
    tree: Bench, glob: str, expected: list[str]
) -> None:
    assert await found(tree, "find_files", pattern=glob) == expected
    lines = await found(tree, "search_files", pattern="needle", include_glob=glob)
    assert [line.split(":")[0] for line in lines] == expected


async def test_secrets_and_git_are_in_no_result(tree: Bench) -> None:
    for glob in (None, ".*", "*.pem", ".git/*"):
        text = "\n".join(await found(tree, "search_files", pattern="needle", include_glob=glob))
        assert "secret" not in text
        assert "needle git" not in text


async def test_a_directory_and_a_single_file_can_be_searched(tree: Bench) -> None:
    assert await found(tree, "search_files", pattern="needle", path="src/deep") == ["src/deep/c.txt:1:needle three"]
    assert await found(tree, "search_files", pattern="ALPHA", path="a.py", ignore_case=True) == ["a.py:1:alpha"]


async def test_many_matches_are_counted(bench: Bench) -> None:
    (bench.workspace / "many.txt").write_text("needle\n" * 250)
    lines = await found(bench, "search_files", pattern="needle")
    assert len(lines) == 201
    assert lines[-1].startswith("[50 more not shown")


async def test_a_huge_line_is_cut_and_hides_no_other_file(bench: Bench) -> None:
    (bench.workspace / "a.min.js").write_text("needle " * 2_000_000)
    (bench.workspace / "b.txt").write_text("needle\n")
    huge, other = await found(bench, "search_files", pattern="needle")
    assert huge.startswith("a.min.js:1:needle needle")
    assert len(huge) < 500
    assert other == "b.txt:1:needle"


async def test_more_output_than_anybody_reads_is_cut_short(bench: Bench) -> None:
    for number in range(30):
        (bench.workspace / f"{number:02}.txt").write_text("needle in a line of some length\n" * 5_000)
    lines = await found(bench, "search_files", pattern="needle")
    assert lines[0].startswith("00.txt:1:")
    assert "cut short" in lines[-1]


async def test_a_file_that_turns_out_binary_spoils_no_other_result(bench: Bench) -> None:
    (bench.workspace / "a.bin").write_bytes(b"needle one\n" + b"x" * 100_000 + b"\n\0\0")
    (bench.workspace / "b.txt").write_text("needle two\n")
    lines = await found(bench, "search_files", pattern="needle")
    assert lines[-1] == "b.txt:1:needle two"
    assert all(line.startswith(("a.bin:1:needle one", "b.txt:1:")) for line in lines)


async def test_a_pattern_made_to_take_for_ever_does_not(bench: Bench) -> None:
    (bench.workspace / "a.txt").write_text("a" * 50_000 + "!\n")
    assert await found(bench, "search_files", pattern=r"(a|a)*(a+)+$") == ["Nothing was found."]


async def test_names_cannot_forge_results(bench: Bench) -> None:
    for name in (b"a.py:1:forged\nb.py", b"bad\xff"):
        (bench.workspace / os.fsdecode(name)).write_text("needle")
    lines = await found(bench, "search_files", pattern="needle")
    assert len(lines) == 2
    assert r"forged\nb.py" in lines[0]
    listed = (await bench.call("list_directory")).content
    assert len(listed.splitlines()) == 2
    listed.encode()


async def test_ripgrep_is_never_taken_from_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "rg"
    planted.write_text("#!/bin/sh\ntouch planted-ran\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:.")
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path / "none"))
    with pytest.raises(RipgrepMissing, match="pip install ripgrep"):
        await run_ripgrep(["--files"], tmp_path, {})


async def test_ripgreps_configuration_file_is_not_used(tree: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = tree.workspace / "ripgreprc"
    configuration.write_text("--pre=/bin/false\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(configuration))
    assert "a.py:2:needle one" in await found(tree, "search_files", pattern="needle")
