"""MEMORY.md as lines: dated bullets that sessions wrote, and every other line, which a person wrote (DESIGN §7)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final

from attrs import field, frozen

from agent_ls.memory.clip import Caps, join_lines, line_bytes, split_lines

_BULLET: Final = re.compile(r"- (?P<date>\d{4}-\d{2}-\d{2}): (?P<text>\S.*)")


@frozen
class Bullet:
    """A dated bullet: one sentence about one session, `- 2026-12-01: …`."""

    date: date
    text: str

    @classmethod
    def parse(cls, line: str) -> Bullet | None:
        """The bullet a line is; None for any other line. A `\\r` at the end belongs to the line's ending."""
        match = _BULLET.fullmatch(line.removesuffix("\r"))
        if match is None:
            return None
        try:
            return cls(date.fromisoformat(match["date"]), match["text"])
        except ValueError:  # 2026-13-45
            return None

    def __str__(self) -> str:
        return f"- {self.date.isoformat()}: {self.text}"


def _tuple(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(lines)


@frozen
class MemoryFile:
    """The lines of a memory file, in order."""

    lines: tuple[str, ...] = field(default=(), converter=_tuple)

    @classmethod
    def parse(cls, text: str) -> MemoryFile:
        """The file with this text."""
        return cls(split_lines(text))

    @property
    def text(self) -> str:
        """What stands in the file: each line ended by a newline."""
        return join_lines(self.lines)

    @property
    def bullets(self) -> Sequence[str]:
        """The lines that sessions wrote."""
        return tuple(line for line in self.lines if Bullet.parse(line) is not None)

    @property
    def written_by_person(self) -> Sequence[str]:
        """The lines a person wrote."""
        return tuple(line for line in self.lines if Bullet.parse(line) is None)

    def with_line(self, line: str) -> MemoryFile:
        """The file with `line` at its end; the same file if the line stands in it already."""
        if any(existing.removesuffix("\r") == line for existing in self.lines):
            return self
        return MemoryFile((*self.lines, line))

    def with_bullets(self, bullets: Sequence[str]) -> MemoryFile:
        """The file with these bullets for its own: they stand where its first bullet stood, a person's lines stay."""
        lines: list[str] = []
        placed = False
        for line in self.lines:
            if Bullet.parse(line) is None:
                lines.append(line)
            elif not placed:
                lines.extend(bullets)
                placed = True
        return MemoryFile(lines)

    def fit(self, caps: Caps) -> Fitted:
        """Drop lines until both caps hold, the guaranteed fallback (DESIGN §7 drop-oldest).

        The oldest dated bullets go first, by date and then by place. Only when none is left a person's lines go, from
        the end: what stands on top of a file a person wrote tends to matter most.
        """
        dated = [(bullet.date, index) for index, line in enumerate(self.lines) if (bullet := Bullet.parse(line))]
        dated_places = {index for _, index in dated}
        by_person = [index for index in range(len(self.lines)) if index not in dated_places]
        count, size = len(self.lines), sum(map(line_bytes, self.lines))
        dropped: set[int] = set()
        for index in (*(index for _, index in sorted(dated)), *reversed(by_person)):
            if count <= caps.max_lines and size <= caps.max_bytes:
                break
            dropped.add(index)
            count -= 1
            size -= line_bytes(self.lines[index])
        return Fitted(
            MemoryFile(line for index, line in enumerate(self.lines) if index not in dropped),
            tuple(self.lines[index] for index in sorted(dropped)),
        )


@frozen
class Fitted:
    """A memory file within its caps, and the lines that had to go for it, in their order."""

    file: MemoryFile
    dropped: Sequence[str]
