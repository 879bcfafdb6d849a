"""docs/compaction.md: every line of the specification and every known fault points to tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOC = (ROOT / "docs" / "compaction.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", DOC)))
FAULTS = 52
SECTIONS = 15


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name for _, name in NAMED])
def test_every_test_named_is_there(path: str, name: str) -> None:
    assert re.search(rf"^\s*(?:async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("section", range(1, SECTIONS + 1))
def test_every_section_of_the_specification_has_tests(section: int) -> None:
    assert re.search(rf"^\| §{section} \| [^|]+ \| `tests/", DOC, re.MULTILINE)


@pytest.mark.parametrize("fault", range(1, FAULTS + 1))
def test_every_fault_has_a_test_of_its_number(fault: int) -> None:
    (row,) = re.findall(rf"^\| {fault} \| [^|]+ \| (.+) \|$", DOC, re.MULTILINE)
    assert re.search(rf"::test_fault_(?:\d\d_and_)?{fault:02d}_", row)


def test_every_file_it_names_is_there() -> None:
    table = DOC.split("## Where it is in the code")[1].split("Names of the decision record")[0]
    for cell in re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE):
        names = re.findall(r"`([\w/]+\.py)`", cell)
        folder = Path(names[0]).parent
        for name in names:
            assert (ROOT / "agent_ls" / name).exists() or (ROOT / "agent_ls" / folder / name).exists(), name
