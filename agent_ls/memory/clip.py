"""The caps of a text that is sent with every request, and cutting to them on whole lines (DESIGN §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen, validators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_ls.settings import Settings


@frozen
class Caps:
    """At most this many lines and this many bytes of UTF-8, newlines counted."""

    max_lines: int = field(default=200, validator=validators.ge(1))
    max_bytes: int = field(default=25_000, validator=validators.ge(1))

    @classmethod
    def of(cls, settings: Settings) -> Caps:
        """The caps a person set."""
        return cls(settings.memory_max_lines, settings.memory_max_bytes)

    def hold(self, lines: Sequence[str]) -> bool:
        """Whether these lines, each with its newline, are within both."""
        return len(lines) <= self.max_lines and sum(map(line_bytes, lines)) <= self.max_bytes


@frozen
class Clipped:
    """A text cut to its caps: what is left, how much that is, and of how much."""

    text: str
    lines: int
    total_lines: int
    bytes: int
    total_bytes: int

    @property
    def truncated(self) -> bool:
        """Whether anything was cut."""
        return self.lines < self.total_lines


def clip_lines_to_budget(text: str, caps: Caps) -> Clipped:
    """The first lines of `text` that fit both caps. Lines end at `\\n` only and are never cut inside."""
    lines = split_lines(text)
    kept: list[str] = []
    size = 0
    for line in lines[: caps.max_lines]:
        size += line_bytes(line)
        if size > caps.max_bytes:
            break
        kept.append(line)
    return Clipped(
        text=join_lines(kept),
        lines=len(kept),
        total_lines=len(lines),
        bytes=sum(map(line_bytes, kept)),
        total_bytes=sum(map(line_bytes, lines)),
    )


def split_lines(text: str) -> list[str]:
    """The lines without their newline; a last line counts with or without one, U+2028 and `\\r` are no ends."""
    return text.removesuffix("\n").split("\n") if text else []


def join_lines(lines: Sequence[str]) -> str:
    """A text of these lines, each ended by a newline."""
    return "".join(f"{line}\n" for line in lines)


def line_bytes(line: str) -> int:
    """A line's bytes in UTF-8, its newline counted; bytes that are no UTF-8 count as one each."""
    return len(line.encode("utf-8", "surrogateescape")) + 1
