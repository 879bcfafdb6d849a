"""From one text of a document to another, as one LSP edit that leaves alone what did not change."""

from __future__ import annotations

import re
from typing import Final

from lsprotocol import types

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def line_edit(old: str, new: str) -> types.TextEdit:
    """An edit of whole lines that turns `old` into `new`, so that cursors and marks elsewhere stay put."""
    before, after = _LINE.findall(old), _LINE.findall(new)
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    changed = types.Range(_position(before, head), _position(before, len(before) - tail))
    return types.TextEdit(changed, "".join(after[head : len(after) - tail]))


def _position(lines: list[str], index: int) -> types.Position:
    """Where line `index` begins; past a last line without a line end, its end in UTF-16 units."""
    if index < len(lines) or not lines or lines[-1].endswith(("\r", "\n")):
        return types.Position(index, 0)
    return types.Position(index - 1, len(lines[-1].encode("utf-16-le", "surrogatepass")) // 2)
