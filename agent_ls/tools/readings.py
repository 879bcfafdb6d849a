"""Which text of each file the model has seen, so that an edit of another text is refused (FAULTS 51)."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final, NewType

from attrs import define, field

ContentHash = NewType("ContentHash", str)
"""The harness's hash of a file: the first 12 hex digits of the SHA-256 of its bytes."""

_READ_HEADER: Final = re.compile(r"\[.*? \| \d+ lines \| hash:([0-9a-f]{12})\]\n", re.DOTALL)


def content_hash(text: str) -> ContentHash:
    """The hash of a text as the model sees it."""
    return ContentHash(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12])


@define
class Readings:
    """The last text seen per resolved path, as its hash."""

    _seen: dict[Path, ContentHash] = field(init=False, factory=dict)

    def note(self, path: Path, content: ContentHash) -> None:
        """The model has now seen the text with this hash at `path`, by reading or by writing it."""
        self._seen[path] = content

    def note_result(self, path: Path, result: str) -> None:
        """`result` is what the harness's `read_file` returned for `path`: its header names what was read."""
        header = _READ_HEADER.match(result)
        if header is not None:
            self.note(path, ContentHash(header.group(1)))

    def objection(self, path: Path, current: ContentHash, *, whole: bool) -> str | None:
        """Why the text with the hash `current` at `path` must not be replaced, None if it may.

        A `whole` replacement needs a reading before; a part is matched by its own text, so an unread file may be
        edited, but never one that has changed since it was read.
        """
        seen = self._seen.get(path)
        if seen is None:
            return "it exists and was not read yet: read it first, then write it" if whole else None
        if seen != current:
            return "it has changed since you read it: read it again, then make the edit against the new text"
        return None
