"""The workspace's own instructions: AGENTS.md files and MEMORY.md, as every request carries them (DESIGN §7).

Files are read again when they changed, so an edit reaches the very next request (FAULTS 29).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

from agent_ls.memory.clip import Caps, Clipped, clip_lines_to_budget, line_bytes, split_lines
from agent_ls.memory.memory_file import MemoryFile
from agent_ls.memory.safe_read import FileContent, NotReadable, Stamp, read_regular_file
from agent_ls.memory.sentence import printable
from agent_ls.memory.store import ARCHIVE_NAME, MEMORY_NAME
from agent_ls.protocol import InstructionFile

_logger = logging.getLogger(__name__)

AGENTS_NAME: Final = "AGENTS.md"
_TEXT_SUFFIXES: Final = frozenset({".md", ".mdc", ".markdown", ".txt", ".rst", ".adoc"})
"""What a linked AGENTS.md may point at: a repository must not make its reader's `.env` an instruction."""

_SETTLED_NS: Final = 100_000_000
"""A file written less than this before it was read may change again without a new timestamp."""


@frozen
class Instructions:
    """What is sent: `agents` from the AGENTS.md files, `memory` from MEMORY.md, and what was taken of each file."""

    agents: str
    memory: str
    files: Sequence[InstructionFile]

    @property
    def text(self) -> str:
        """Both, as a request carries them."""
        return "\n\n".join(part for part in (self.agents, self.memory) if part)


@frozen
class _Section:
    """One file's share of the instructions."""

    text: str
    file: InstructionFile


@frozen
class _Known:
    """A section as of a stamp, and the caps it was cut to."""

    stamp: Stamp
    caps: Caps
    section: _Section | None


@define
class InstructionReader:
    """Reads one workspace's instructions. `memory_directory` is where MEMORY.md is (`SessionDirectory.root`).

    Blocking, but cheap: a file that did not change costs one stat. Not thread-safe.
    """

    workspace: Path
    memory_directory: Path
    _known: dict[Path, _Known] = field(factory=dict, init=False)
    _complained: set[str] = field(factory=set, init=False)

    def load(self, caps: Caps, file: Path | None = None) -> Instructions:
        """AGENTS.md of each folder from the workspace down to that of `file`, nearest last, then MEMORY.md.

        Never raises: a file that cannot be read is left out, which is logged once. A `file` outside the workspace
        counts as none.
        """
        agents = [section for path in self._agents_files(file) if (section := self._section(path, caps))]
        memory = self._section(self.memory_directory / MEMORY_NAME, caps)
        return Instructions(
            agents="\n\n".join(section.text for section in agents),
            memory=memory.text if memory else "",
            files=tuple(section.file for section in (*agents, *([memory] if memory else []))),
        )

    def _agents_files(self, file: Path | None) -> Iterator[Path]:
        yield self.workspace / AGENTS_NAME
        if file is None:
            return
        # Resolved, so that neither `..` nor a linked folder leads out of the workspace.
        root, folder = self.workspace.resolve(), file.resolve().parent
        if folder.is_relative_to(root):
            current = self.workspace
            for name in folder.relative_to(root).parts:
                current = current / name
                yield current / AGENTS_NAME

    def _section(self, path: Path, caps: Caps) -> _Section | None:
        try:
            target = self._target(path)
            known = self._known.get(path)
            if target is None:
                self._known.pop(path, None)
                return None
            if known is not None and known.caps == caps and known.stamp == Stamp.of(target.stat()):
                return known.section
            read_at = time.time_ns()
            content = read_regular_file(target)
        except OSError as error:
            self._complain(str(error))
            return None
        if content is None:
            return None
        section = self._made_of(path, content, caps)
        if read_at - content.stamp.modified_ns > _SETTLED_NS:
            self._known[path] = _Known(content.stamp, caps, section)
        else:
            self._known.pop(path, None)
        return section

    def _target(self, path: Path) -> Path | None:
        """The file to read for `path`; a linked AGENTS.md must point at a text file of this workspace."""
        if not path.is_symlink():
            return path if path.exists() else None
        if path.name != AGENTS_NAME:
            raise NotReadable(f"{path} is not read: it is a symbolic link")
        target = path.resolve()
        if not target.is_relative_to(self.workspace.resolve()):
            raise NotReadable(f"{path} is not read: it points out of the workspace")
        if target.suffix.lower() not in _TEXT_SUFFIXES:
            raise NotReadable(f"{path} is not read: it points at {target.name}, which is not a text document")
        return target if target.exists() else None

    def _made_of(self, path: Path, content: FileContent, caps: Caps) -> _Section | None:
        text = printable(content.text.removeprefix("\ufeff"))
        if not text.strip():
            return None
        is_memory = path.name == MEMORY_NAME
        name = self._name(path)
        clipped = _newest(text, caps) if is_memory else clip_lines_to_budget(text, caps)
        title = f"Notes from earlier sessions in this workspace ({name})" if is_memory else f"Instructions from {name}"
        notice = _notice(name, clipped, content, is_memory) if clipped.truncated or not content.complete else ""
        return _Section(
            text=f"# {title}\n\n{clipped.text.rstrip()}{notice}",
            file=InstructionFile(
                path=str(path),
                lines=clipped.lines,
                total_lines=clipped.total_lines,
                bytes=clipped.bytes,
                truncated=clipped.truncated or not content.complete,
            ),
        )

    def _name(self, path: Path) -> str:
        try:
            return path.relative_to(self.workspace).as_posix()
        except ValueError:
            return str(path)

    def _complain(self, message: str) -> None:
        if message not in self._complained:
            self._complained.add(message)
            _logger.warning("%s", message)


def _newest(text: str, caps: Caps) -> Clipped:
    """MEMORY.md within its caps without losing the newest entries off the end (FAULTS 46)."""
    kept = MemoryFile.parse(text).fit(caps).file
    lines = split_lines(text)
    return Clipped(
        text=kept.text,
        lines=len(kept.lines),
        total_lines=len(lines),
        bytes=sum(map(line_bytes, kept.lines)),
        total_bytes=sum(map(line_bytes, lines)),
    )


def _notice(name: str, clipped: Clipped, content: FileContent, is_memory: bool) -> str:
    """What says that, and how much, was cut."""
    at_least = "" if content.complete else "more than "
    what = "the newest" if is_memory else "the first"
    where = f"older notes are in {ARCHIVE_NAME} and {name}" if is_memory else f"the rest is in {name}"
    return (
        f"\n\n[Cut: {what} {clipped.lines} of {at_least}{clipped.total_lines} lines, "
        f"{clipped.bytes:,} of {at_least}{clipped.total_bytes:,} bytes; {where}.]"
    )
