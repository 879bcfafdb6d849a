"""The memory file as lines, and its caps (DESIGN §7)."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.memory.clip import Caps, clip_lines_to_budget, line_bytes
from agent_ls.memory.memory_file import Bullet, MemoryFile

LINES = st.one_of(
    st.text(alphabet=st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=30),
    st.builds(
        lambda day, text: f"- {day.isoformat()}: {text}",
        st.dates(date(2025, 1, 1), date(2026, 12, 31)),
        st.text(alphabet="abc é中", min_size=1, max_size=20).map(lambda text: f"x{text}"),
    ),
)
CAPS = st.builds(Caps, st.integers(1, 12), st.integers(1, 300))


@given(st.lists(LINES, max_size=20), CAPS)
def test_clipping_keeps_whole_lines_from_the_top_within_both_caps(lines: list[str], caps: Caps) -> None:
    text = "".join(f"{line}\n" for line in lines)
    clipped = clip_lines_to_budget(text, caps)
    assert text.startswith(clipped.text)
    assert clipped.lines <= caps.max_lines
    assert len(clipped.text.encode()) == clipped.bytes <= caps.max_bytes
    assert clipped.truncated == (clipped.text != text)
    if clipped.truncated:  # as much as fits
        assert not caps.hold(lines[: clipped.lines + 1])


def test_a_single_line_over_the_cap_is_not_cut_inside() -> None:
    clipped = clip_lines_to_budget("x" * 30, Caps(200, 20))
    assert (clipped.text, clipped.truncated) == ("", True)


def test_lines_end_at_newlines_only() -> None:
    assert clip_lines_to_budget("a\u2028b\x85c\rd\n", Caps()).total_lines == 1


@given(st.lists(LINES, max_size=20), CAPS)
def test_fitting_drops_bullets_first_the_oldest_first_and_loses_none(lines: list[str], caps: Caps) -> None:
    file = MemoryFile(lines)
    fitted = file.fit(caps)
    assert caps.hold(fitted.file.lines)
    assert sorted((*fitted.file.lines, *fitted.dropped)) == sorted(lines)
    if any(Bullet.parse(line) is None for line in fitted.dropped):
        assert not fitted.file.bullets
    dates = [bullet.date for line in fitted.file.bullets if (bullet := Bullet.parse(line))]
    gone = [bullet.date for line in fitted.dropped if (bullet := Bullet.parse(line))]
    assert not dates or not gone or max(gone) <= min(dates)


@given(st.lists(LINES, max_size=20))
def test_a_file_s_text_is_read_back_as_it_was(lines: list[str]) -> None:
    file = MemoryFile(lines)
    if lines != [""]:  # one empty line and no line at all differ in the newline only
        assert MemoryFile.parse(file.text) == file


def test_fault_46_the_oldest_dated_line_goes_not_the_newest() -> None:
    file = MemoryFile(["# Notes", "- 2026-12-03: new", "- 2026-01-01: old", "- by hand"])
    fitted = file.fit(Caps(3, 1000))
    assert fitted.dropped == ("- 2026-01-01: old",)
    assert fitted.file.lines == ("# Notes", "- 2026-12-03: new", "- by hand")


def test_a_person_s_lines_go_last_and_from_the_end() -> None:
    fitted = MemoryFile(["# Rules", "- use tabs", "- 2026-01-01: old", "- run make"]).fit(Caps(2, 1000))
    assert fitted.file.lines == ("# Rules", "- use tabs")


@pytest.mark.parametrize(
    ("line", "is_bullet"),
    [
        ("- 2026-12-01: did it", True),
        ("- 2026-12-01: did it\r", True),
        ("- 2026-13-01: no such month", False),
        ("- 2026-12-01 did it", False),
        ("* 2026-12-01: did it", False),
        ("  - 2026-12-01: nested", False),
        ("- 2026-12-01: ", False),
        ("- use tabs", False),
    ],
)
def test_what_counts_as_a_dated_bullet(line: str, is_bullet: bool) -> None:
    assert (Bullet.parse(line) is not None) == is_bullet


def test_new_bullets_stand_where_the_old_ones_stood() -> None:
    file = MemoryFile(["# A", "- 2026-01-01: one", "between", "- 2026-01-02: two", "end"])
    assert file.with_bullets(["- 2026-01-02: both"]).lines == ("# A", "- 2026-01-02: both", "between", "end")


def test_bytes_that_are_no_text_count_as_one_each() -> None:
    assert line_bytes(b"\xff\xfe".decode("utf-8", "surrogateescape")) == 3
