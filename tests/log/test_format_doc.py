"""docs/log-format.md names every kind of line and every field, and nothing that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import attrs
import pytest

from agent_ls.log.codec import TYPE_NAMES, encode
from agent_ls.log.entries import FORMAT_VERSION, Totals, WritableEntry

from .test_codec import ENTRIES

DOC = (Path(__file__).parents[2] / "docs" / "log-format.md").read_text()


def section(name: str) -> str:
    return re.split(r"^##+ ", DOC.split(f"\n### `{name}`", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: TYPE_NAMES[type(entry)])
def test_every_field_of_a_line_is_described(entry: WritableEntry) -> None:
    line = json.loads(encode(entry))
    described = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", section(line["type"]), flags=re.MULTILINE)
    assert {field for cell in described for field in re.findall(r"\w+", cell)} == set(line) - {"type"}


def test_every_kind_of_line_has_a_section() -> None:
    assert set(re.findall(r"^### `(\w+)`", DOC, flags=re.MULTILINE)) == {*TYPE_NAMES.values(), "totals"}


def test_the_sums_and_the_version_are_described() -> None:
    for field in attrs.fields(Totals):
        assert f"`{field.name}`" in section("totals")
    assert f"Format version: **{FORMAT_VERSION}**" in DOC
