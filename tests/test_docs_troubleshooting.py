"""docs/troubleshooting.md explains every error kind."""

import re
from pathlib import Path
from typing import get_args

from agent_ls.errors import ErrorKind

ROOT = Path(__file__).parents[1]


def test_every_error_kind_is_explained() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(get_args(ErrorKind))
