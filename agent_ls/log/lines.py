"""The complete lines of a log file, from its start or from its end.

A line ends with `\\n` (the byte, nothing else: U+2028 and friends stay inside a line). What stands after the last one
is torn and no line.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import FileIO
from typing import BinaryIO, Final, NamedTuple

_BLOCK: Final = 1 << 18


class Span(NamedTuple):
    """Where a line's bytes stand in the file, its newline not counted."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        """The offset of its newline."""
        return self.offset + self.length


class Line(NamedTuple):
    """A complete line: its bytes without the newline, and where they stand."""

    span: Span
    data: bytes

    @classmethod
    def at(cls, offset: int, data: bytes) -> Line:
        """The line whose first byte is at `offset`."""
        return cls(Span(offset, len(data)), data)


def forwards(file: BinaryIO) -> Iterator[Line]:
    """All complete lines in order."""
    file.seek(0)
    offset = 0
    for data in file:
        if not data.endswith(b"\n"):
            return
        yield Line.at(offset, data[:-1])
        offset += len(data)


def backwards(file: BinaryIO | FileIO, block: int = _BLOCK) -> Iterator[Line]:
    """All complete lines, the last one first; reads no more of the file than is asked for, in blocks of `block`."""
    start = file.seek(0, 2)
    # The pieces of the line whose beginning is not read yet, last piece first. None: no newline was met so far.
    pieces: list[bytes] | None = None
    while start > 0:
        length = min(block, start)
        start -= length
        file.seek(start)
        data = file.read(length) or b""
        end = len(data)
        while (newline := data.rfind(b"\n", 0, end)) >= 0:
            if pieces is not None:
                pieces.append(data[newline + 1 : end])
                yield Line.at(start + newline + 1, _joined(pieces))
            pieces = []
            end = newline
        if pieces is not None:
            pieces.append(data[:end])
    if pieces is not None:
        yield Line.at(0, _joined(pieces))


def _joined(pieces: list[bytes]) -> bytes:
    return pieces[0] if len(pieces) == 1 else b"".join(reversed(pieces))
