"""Damage to JSON values and to bytes, by chance."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

_DEEP: Final = 200


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


JUNK: Final[Sequence[Any]] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**200, -(2**63), 0.5, 1e308, "", " ", "\0", "\ud800", "\u2028", "a",
    "x" * 5_000, "../..", "latest", "7", "/compact", "/undo", "/nothing", [], {}, [None], [[], {}], {"": {}}, {"id": 1},
    {"type": "text"}, {"type": "text", "text": "a"}, {"type": "image", "data": "!", "mimeType": "image/png"},
    _nested(_DEEP),
)  # fmt: skip
PIECES: Final[Sequence[bytes]] = (
    b"\n", b"\r\n", b"\0" * 9, b'"', b"{", b"}", b"[" * 3_000, b"\\", b"\\ud800", b"9" * 400, b"1e999", b"NaN", b"null",
    b"\xff", b"\xc3", b",", b":", b"[[", b"]]", b"- 2026-12-01: ", b"# ", b"```\n", b"<think>", b"\x1b[31m",
)  # fmt: skip


def damaged_value(chance: random.Random, value: Any) -> Any:
    """A copy of a JSON value with one to three places replaced, taken out, doubled or renamed."""
    root = [copy.deepcopy(value)]
    for _ in range(chance.choice((1, 1, 2, 3))):
        container, key = chance.choice(list(_places(root)))
        match chance.randrange(6):
            case 0 if container is not root:
                del container[key]
            case 1:
                container[key] = [container[key], copy.deepcopy(container[key])]
            case 2 if isinstance(container, dict):
                container[chance.choice(("", "id", "type", "method", key.upper(), "x" * 100))] = container.pop(key)
            case 3 if isinstance(container[key], str):
                text = container[key]
                at = chance.randrange(len(text) + 1)
                container[key] = text[:at] + chance.choice(("\0", "\ud83d", "é", "\n", "%", "x" * 300)) + text[at + 1 :]
            case _:
                container[key] = copy.deepcopy(chance.choice(JUNK))
    return root[0]


def _places(container: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a JSON value, as what holds it and its key there."""
    for key in range(len(container)) if isinstance(container, list) else list(container):
        yield container, key
        if isinstance(container[key], list | dict) and container[key]:
            yield from _places(container[key])


def damaged_bytes(chance: random.Random, data: bytes) -> bytes:
    """`data` with one to five places overwritten, taken out, repeated, inserted into or cut off."""
    content = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        start = chance.randrange(len(content) + 1)
        chance.choice(_DAMAGES)(chance, content, start, start + chance.choice((0, 1, 1, 2, 8, 64)))
    return bytes(content)


def _overwrite(chance: random.Random, content: bytearray, start: int, end: int) -> None:
    content[start:end] = chance.randbytes(end - start)


def _delete(chance: random.Random, content: bytearray, start: int, end: int) -> None:
    del content[start:end]


def _repeat(chance: random.Random, content: bytearray, start: int, end: int) -> None:
    content[start:start] = content[start:end] * chance.choice((1, 1, 3, 50))


def _insert(chance: random.Random, content: bytearray, start: int, end: int) -> None:
    content[start:start] = chance.choice(PIECES)


def _truncate(chance: random.Random, content: bytearray, start: int, end: int) -> None:
    del content[start:]


_DAMAGES: Final[Sequence[Callable[[random.Random, bytearray, int, int], None]]] = (
    _overwrite,
    _overwrite,
    _delete,
    _repeat,
    _insert,
    _insert,
    _truncate,
)
