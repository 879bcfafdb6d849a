"""What a person does with the memory: see it and what of it is sent (`agent/memory`), add a line (`/remember`)."""

from __future__ import annotations

from pathlib import Path

from agent_ls.memory.instructions import InstructionReader
from agent_ls.memory.safe_read import read_regular_file
from agent_ls.memory.secret_like import looks_like_secret
from agent_ls.memory.sentence import one_line
from agent_ls.memory.store import MemoryStore
from agent_ls.protocol import MemoryResult

_MAX_CHARACTERS = 2_000


class NotRemembered(ValueError):
    """A line was not added; the message is for the person."""


def read_memory(workspace: Path, store: MemoryStore) -> MemoryResult:
    """MEMORY.md as it is, and what of it every request carries. Raises OSError."""
    content = read_regular_file(store.path)
    data = content.data if content is not None else b""
    instructions = InstructionReader(workspace, store.directory).load(store.caps)
    sent = [file for file in instructions.files if file.path == str(store.path)]
    return MemoryResult(
        path=str(store.path),
        content=data.decode("utf-8", "replace"),
        sent=instructions.memory,
        lines=len(store.read().lines),
        bytes=len(data),
        truncated=any(file.truncated for file in sent),
    )


def remember(store: MemoryStore, text: str) -> str:
    """Add `text` as one bullet of the person's own, which is never dropped before a session's; returns the line.

    Raises NotRemembered for a blank text, one that looks like a secret, one that stands there already and when there
    is no room; OSError if the file cannot be written.
    """
    words = one_line(text).removeprefix("- ").strip()
    if not words:
        raise NotRemembered("There is nothing to remember: write the line behind the command.")
    if len(words) > _MAX_CHARACTERS:
        raise NotRemembered(f"That is too long for one line: {len(words)} characters, {_MAX_CHARACTERS} fit.")
    if looks_like_secret(text):
        raise NotRemembered("That looks like a key or password, which is never written to MEMORY.md.")
    line = f"- {words}"
    if not store.add_line(line):
        raise NotRemembered(f"Nothing was added: {store.path} has that line already, or it is full of your own lines.")
    return line
