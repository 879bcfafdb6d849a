"""The generated parts of docs/benchmarks.md are replaced, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.report import machine, write_section


def test_only_the_part_of_that_name_is_replaced(tmp_path: Path) -> None:
    document = tmp_path / "benchmarks.md"
    document.write_text("# B\n<!-- begin one -->\nold\n<!-- end one -->\ntext\n<!-- begin two -->\n<!-- end two -->\n")
    write_section("one", "\nnew\n", document)
    write_section("two", "2", document)
    assert document.read_text() == (
        "# B\n<!-- begin one -->\nnew\n<!-- end one -->\ntext\n<!-- begin two -->\n2\n<!-- end two -->\n"
    )


@pytest.mark.parametrize("text", ["", "<!-- begin one -->", "<!-- end one -->"])
def test_a_document_without_the_marks_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    document = tmp_path / "benchmarks.md"
    document.write_text(text)
    with pytest.raises(SystemExit):
        write_section("one", "new", document)
    assert document.read_text() == text


def test_the_machine_is_named() -> None:
    assert "cores" in machine()
