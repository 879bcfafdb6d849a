"""What a model's compression must be to replace a session's bullets."""

from __future__ import annotations

import pytest

from agent_ls.memory.acceptance import NotAccepted, accepted_bullets, content_words
from agent_ls.memory.clip import Caps
from agent_ls.memory.memory_file import MemoryFile

CAPS = Caps(6, 2_000)
FILE = MemoryFile(
    [
        "# Our rules",
        "- use tabs",
        "- 2026-11-01: Moved the login form to src/login.py.",
        "- 2026-11-02: Fixed the login test in src/login.py.",
        "- 2026-11-03: The database needs PostgreSQL 16.",
        "- 2026-11-04: Chose ruff instead of flake8 for linting.",
    ]
)
MERGED = (
    "- 2026-11-02: Moved the login form to src/login.py and fixed its login test.\n"
    "- 2026-11-03: The database needs PostgreSQL 16.\n"
    "- 2026-11-04: Chose ruff instead of flake8 for linting.\n"
)


def test_merged_entries_are_accepted() -> None:
    assert list(accepted_bullets(MERGED, FILE, CAPS)) == MERGED.splitlines()


def test_a_person_s_lines_may_be_repeated_and_are_not_part_of_the_result() -> None:
    assert list(accepted_bullets(f"# Our rules\n- use tabs\n\n{MERGED}", FILE, CAPS)) == MERGED.splitlines()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "blank"),
        (" \n\n", "blank"),
        ("Here are the notes:\n" + MERGED, "not a plain dated bullet"),
        ("```\n" + MERGED + "```", "not a plain dated bullet"),
        ("# Notes\n" + MERGED, "not a plain dated bullet"),
        ("* 2026-11-02: Moved the login form.", "not a plain dated bullet"),
        (MERGED.replace("tabs", "").replace("ruff", "ru\x1bff"), "not a plain dated bullet"),
        ("- 2026-11-02: " + "login " * 300, "not a plain dated bullet"),
        ("\n".join(FILE.bullets), "nothing was merged"),
        (MERGED.replace("2026-11-03", "2026-11-30"), "invented date"),
        (MERGED.replace("PostgreSQL 16", "PostgreSQL 17"), "made up"),
        (MERGED.replace("Chose ruff instead of flake8", "Adopted kubernetes everywhere, dropping docker"), "made up"),
        (MERGED.replace("2026-11-02: Moved", "2026-11-04: Moved"), "a date that is not its own"),
        ("- 2026-11-03: The database needs PostgreSQL 16.", "only 1 of 4 distinct facts"),
    ],
)
def test_anything_else_is_refused_with_the_reason(answer: str, reason: str) -> None:
    with pytest.raises(NotAccepted, match=reason):
        accepted_bullets(answer, FILE, CAPS)


def test_a_result_over_the_caps_is_refused() -> None:
    with pytest.raises(NotAccepted, match="over the caps"):
        accepted_bullets(MERGED, FILE, Caps(4, 2_000))
    with pytest.raises(NotAccepted, match="over the caps"):
        accepted_bullets(MERGED, FILE, Caps(200, 100))


def test_a_secret_is_refused() -> None:
    file = MemoryFile(["- 2026-11-01: Set password hunter2x.", "- 2026-11-01: Set the password policy."])
    with pytest.raises(NotAccepted, match="key or password"):
        accepted_bullets("- 2026-11-01: Set the password: hunter2x.", file, CAPS)


def test_duplicates_count_as_one_fact_and_a_repeated_line_as_one_line() -> None:
    file = MemoryFile(
        [*(f"- 2026-11-0{day}: Fixed the login test." for day in range(1, 8)), "- 2026-11-09: Added docs."]
    )
    lines = accepted_bullets("- 2026-11-07: Fixed the login test.\n" * 2 + "- 2026-11-09: Added docs.", file, CAPS)
    assert len(lines) == 2


def test_languages_without_blanks_are_compared_in_pairs() -> None:
    assert content_words("修复登录") & content_words("已修复登录测试")
    file = MemoryFile(
        ["- 2026-11-01: 修复了登录测试。", "- 2026-11-02: 登录测试已经修复。", "- 2026-11-03: 数据库升级。"]
    )
    merged = "- 2026-11-02: 登录测试已经修复。\n- 2026-11-03: 数据库升级。"
    assert len(accepted_bullets(merged, file, CAPS)) == 2
    with pytest.raises(NotAccepted, match="made up"):
        accepted_bullets("- 2026-11-02: 天气很好我们去公园。", file, CAPS)
