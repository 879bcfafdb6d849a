"""Byte order mark and line endings of a file: the model sees plain `\n` text, the file keeps its own form."""

from __future__ import annotations

import codecs
import difflib
import re
from collections.abc import Sequence
from typing import Final

from attrs import frozen

_BOM: Final = codecs.BOM_UTF8
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_MOST_LINES_MATCHED: Final = 4_000
"""Above this many changed lines a mixed file's new lines all get the usual ending: matching them costs too much."""


@frozen
class TextForm:
    """How a text is spelled in its file: a mark in front or not, and the ending of each line."""

    mark: bool
    endings: tuple[str, ...]
    text: str
    """The text without mark and with every `\\r\\n` as `\\n`."""

    @classmethod
    def of_bytes(cls, raw: bytes) -> TextForm | None:
        """The form of a file's bytes; None for what is not UTF-8 text, which has to stay as it is."""
        if b"\0" in raw:
            return None
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
        mark = raw.startswith(_BOM)
        return cls.of_text(text.removeprefix("\ufeff"), mark=mark)

    @classmethod
    def of_text(cls, text: str, *, mark: bool = False) -> TextForm:
        """The form of a decoded text, such as a document in an editor."""
        lines = _lines(text)
        endings = ["\r\n" if line.endswith("\r\n") else "\n" for line in lines if line.endswith("\n")]
        if len(endings) < len(lines):
            endings.append(_usual(endings))
        return cls(mark=mark, endings=tuple(endings), text=text.replace("\r\n", "\n"))

    @property
    def is_plain(self) -> bool:
        """Whether the file is spelled as the model sees it."""
        return not self.mark and "\r\n" not in self.endings

    def spell(self, new: str) -> str:
        """`new` (with `\\n` endings, no mark) as this file spells it: lines that stay keep their ending."""
        if "\r\n" not in self.endings:
            return new
        old_lines, new_lines = _lines(self.text), _lines(new)
        known = frozenset(old_lines)
        return "".join(
            # A line the model itself wrote with `\r\n` has its ending already.
            line if not line.endswith("\n") or (line.endswith("\r\n") and line not in known) else line[:-1] + ending
            for line, ending in zip(new_lines, self._endings_for(old_lines, new_lines), strict=True)
        )

    def spell_bytes(self, new: str) -> bytes:
        """`spell`, encoded, with the byte order mark if the file has one."""
        return (_BOM if self.mark else b"") + self.spell(new).encode("utf-8")

    def _endings_for(self, old: list[str], new: list[str]) -> list[str]:
        usual = _usual(self.endings)
        if len(set(self.endings)) == 1:
            return [usual] * len(new)
        first = _common_prefix(old, new)
        last = _common_prefix(old[first:][::-1], new[first:][::-1])
        old_middle, new_middle = old[first : len(old) - last], new[first : len(new) - last]
        middle = [usual] * len(new_middle)
        if max(len(old_middle), len(new_middle)) <= _MOST_LINES_MATCHED:
            matcher = difflib.SequenceMatcher(None, old_middle, new_middle, autojunk=False)
            for old_at, new_at, size in matcher.get_matching_blocks():
                middle[new_at : new_at + size] = self.endings[first + old_at : first + old_at + size]
        return [*self.endings[:first], *middle, *self.endings[len(old) - last :]]


def _usual(endings: Sequence[str]) -> str:
    """The ending most lines have; `\\n` where there are none."""
    return "\r\n" if endings.count("\r\n") * 2 > len(endings) else "\n"


def _lines(text: str) -> list[str]:
    """The lines of `text` with their `\\n`; only `\\n` ends a line."""
    return _LINE.findall(text)


def _common_prefix(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
