"""docs/compaction.md names tests and files that exist, and every fault has one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "compaction.md").read_text(encoding="utf-8")


def test_every_test_named_on_the_page_exists() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    named = re.findall(r"`(test_\w+)` \(([\w/.]+)\)", PAGE)
    assert len(named) > 50
    for name, file in named:
        assert f"def {name}(" in sources[ROOT / "tests" / file], f"{name} is not in {file}"


def test_every_fault_has_a_test() -> None:
    rows = dict(re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|$", PAGE, re.MULTILINE))
    assert set(map(int, rows)) == set(range(1, 53))
    assert all("test_fault_" in tests for tests in rows.values())


def test_every_file_named_for_a_section_exists() -> None:
    known = {path.name for folder in ("tests", "agent_ls") for path in (ROOT / folder).rglob("*.py")}
    for row in re.findall(r"^\| §.*$", PAGE, re.MULTILINE):
        for file in re.findall(r"`([\w/]+\.py)`", row):
            assert Path(file).name in known, file
