"""The picture in docs/architecture.md shows the layers that import-linter holds, in their order."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_picture_has_every_module_in_the_order_of_the_contract() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [set(re.findall(r"\w+", layer)) for layer in contract["contracts"][0]["layers"]]
    rows = [re.split(r" {2,}", row, maxsplit=1)[0] for row in PAGE.split("```")[1].strip().splitlines()]
    pictured = [name for row in rows for name in re.findall(r"\w+", row)]
    expected = list(layers)
    for name in pictured:
        # A row of the picture may stand for several layers, and names what is in one in any order.
        while expected and not expected[0]:
            expected.pop(0)
        assert expected, f"{name} is no module of the contract"
        assert name in expected[0], f"{name} stands above or below its layer {sorted(expected[0])}"
        expected[0].discard(name)
    assert not any(expected)


def test_the_table_of_the_compaction_page_has_every_module_of_the_engine() -> None:
    page = (ROOT / "docs" / "compaction.md").read_text(encoding="utf-8")
    table = page.split("## Where it is in the code", 1)[1].split("\n## ", 1)[0]
    named = {Path(name).name for name in re.findall(r"`([\w/]+\.py)`", table)}
    assert {path.name for path in (ROOT / "agent_ls" / "compaction").glob("[!_]*.py")} <= named


def test_every_invariant_names_a_module_and_a_test() -> None:
    table = PAGE.split("## Invariants", 1)[1]
    rows = re.findall(r"^\| (?!invariant|---)(.+?) \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert len(rows) > 10
    for invariant, where, tests in rows:
        assert all((ROOT / "agent_ls" / each).exists() for each in re.findall(r"`(.+?)`", where)), invariant
        assert all((ROOT / each).exists() for each in re.findall(r"`(.+?)`", tests)), invariant
        assert "`" in where, invariant
        assert "`" in tests, invariant
