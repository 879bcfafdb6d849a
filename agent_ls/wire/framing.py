"""Content-Length frames, read from a blocking byte stream (LSP 3.17 "Base Protocol").

Tolerant where the meaning is clear: any case, no blank after the colon, LF alone, other headers. A Content-Length that
is a few bytes off puts rubbish before the next header or cuts it short; both are recognised, so the message after the
bad one is read. What cannot be read as a header is fatal: a client restarts a server that ended, not one that hangs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from attrs import frozen

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
_ABSURD_BYTES: Final = 1 << 30
_MAX_HEADER_BYTES: Final = 4096
_MAX_HEADERS: Final = 16
_NAME: Final = b"content-length"
_SHORTEST_REST_OF_NAME: Final = 3
_CHUNK: Final = 1 << 20


class BrokenFraming(Exception):
    """The stream is out of step for good; the message says what was found."""


@frozen
class Body:
    """One message's bytes."""

    data: bytes


@frozen
class TooLarge:
    """A message above the cap, skipped; `length` in bytes."""

    length: int


Frame = Body | TooLarge


def read_frames(stream: BinaryIO, max_body: int = MAX_BODY_BYTES) -> Iterator[Frame]:
    """Frames until the stream ends; a message cut short by the end is dropped. Raises BrokenFraming."""
    while (length := _read_headers(stream)) is not None:
        if length > max_body:
            if not _skip(stream, length):
                return
            yield TooLarge(length)
            continue
        data = _read_exactly(stream, length)
        if data is None:
            return
        yield Body(data)


def _read_headers(stream: BinaryIO) -> int | None:
    length: int | None = None
    for _ in range(_MAX_HEADERS):
        line = stream.readline(_MAX_HEADER_BYTES)
        if not line:
            return None
        if not line.endswith(b"\n"):
            if len(line) < _MAX_HEADER_BYTES:
                return None
            raise BrokenFraming(f"a header line is longer than {_MAX_HEADER_BYTES} bytes: {line[:60]!r}…")
        if not line.strip():
            if length is not None:
                return length
            continue
        length = _content_length(line) if _names_length(line) else _other_header(line, length)
    raise BrokenFraming(f"more than {_MAX_HEADERS} header lines without a Content-Length")


def _names_length(line: bytes) -> bool:
    name = line.partition(b":")[0].strip().lower()
    cut_short = len(name) >= _SHORTEST_REST_OF_NAME and _NAME.endswith(name)
    return b":" in line and (_NAME in line.lower() or cut_short)


def _content_length(line: bytes) -> int:
    value = line.rpartition(b":")[2].strip()
    if not value.isdigit():
        raise BrokenFraming(f"Content-Length is not a number: {line.strip()[:60]!r}")
    if (length := int(value)) > _ABSURD_BYTES:
        raise BrokenFraming(f"a message of {length} bytes is announced")
    return length


def _other_header(line: bytes, length: int | None) -> int | None:
    name, colon, _ = line.partition(b":")
    if colon and name.strip() and all(byte > 32 and byte not in b'{}[]"' for byte in name.strip()):
        return length
    raise BrokenFraming(f"not a header line: {line.strip()[:60]!r}")


def _read_exactly(stream: BinaryIO, length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        chunk = stream.read(min(length - len(data), _CHUNK))
        if not chunk:
            return None
        data += chunk
    return bytes(data)


def _skip(stream: BinaryIO, length: int) -> bool:
    while length:
        chunk = stream.read(min(length, _CHUNK))
        if not chunk:
            return False
        length -= len(chunk)
    return True
