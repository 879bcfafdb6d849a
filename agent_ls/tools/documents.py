"""The files of the machine with the editor's open documents laid over them, as a pydantic-ai workspace backend.

What a document holds wins over the disk for every read; a write to it goes through the editor, any other to the disk
atomically. Text is shown with `\\n` endings and without a byte order mark, and written back in the file's own form.

The backend has files and no commands on purpose: harness tools that find commands would search the disk with them and
miss what is unsaved.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import define, evolve, field
from pydantic_ai.workspaces import FileEntry, LocalWorkspaceBackend, WorkspaceError, WorkspaceRef

from agent_ls.client import Client, OpenDocument
from agent_ls.disk.files import Files, OperatingSystemFiles
from agent_ls.disk.whole_file import write_whole
from agent_ls.tools.presentation import visible
from agent_ls.tools.text_form import TextForm

_LATEST_CHANGE_SECONDS: Final = 0.5
_LOOK_AGAIN_SECONDS: Final = 0.01
_EDIT_LABEL: Final = "agent-ls"


@define
class Documents:
    """`SupportsFilesystem` and `SupportsRealpath` over the disk and the editor; see the module."""

    client: Client
    root: Path
    _files: Files = field(factory=OperatingSystemFiles)
    _disk: LocalWorkspaceBackend = field(init=False)
    # What the editor accepted and has not yet told back with didChange, by path: the document it replaces, the text.
    _accepted: dict[Path, tuple[OpenDocument, str]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self._disk = LocalWorkspaceBackend(self.root)

    @property
    def ref(self) -> WorkspaceRef:
        """The workspace's identity: its directory."""
        return WorkspaceRef(provider="agent-ls", id=str(self.root))

    async def working_dir(self) -> str:
        """The workspace's directory."""
        return str(self.root)

    # --- what the editor holds ---------------------------------------------------------------------------------------

    def document(self, path: str | Path) -> OpenDocument | None:
        """The open document at `path` with the text it has or is about to have; None if the editor has none."""
        document = self.client.open_documents().get(Path(os.path.realpath(path)))
        return None if document is None else self._as_accepted(document)

    def unsaved(self) -> Iterator[OpenDocument]:
        """The open documents of the workspace whose text is not what the disk holds."""
        for path, document in self.client.open_documents().items():
            current = self._as_accepted(document)
            if path.is_relative_to(self.root) and not _saved(current):
                yield current

    def _as_accepted(self, document: OpenDocument) -> OpenDocument:
        """`document`, with the text of an edit that the editor accepted and has not told of."""
        accepted = self._accepted.get(document.path)
        if accepted is None:
            return document
        before, text = accepted
        if document != before:
            del self._accepted[document.path]
            return document
        return evolve(document, text=text)

    def text_form(self, path: Path) -> TextForm | None:
        """The text at `path` as it is now; None for what is not text. Raises OSError, FileNotFoundError if absent."""
        document = self.document(path)
        if document is not None:
            return TextForm.of_text(document.text)
        return TextForm.of_bytes(_read_regular(path))

    # --- SupportsFilesystem ------------------------------------------------------------------------------------------

    async def read_bytes(self, path: str) -> bytes:
        """The text of the document or the bytes of the file, in the form the model sees."""
        document = self.document(path)
        if document is not None:
            return TextForm.of_text(document.text).text.encode("utf-8", "replace")
        await self._check_resolved(path)
        raw = await self._disk.read_bytes(path)
        form = TextForm.of_bytes(raw)
        return raw if form is None or form.is_plain else form.text.encode("utf-8")

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Write through the editor if it has the document open, else to the disk."""
        await self._check_resolved(path)
        document = self.document(path)
        if document is None:
            try:
                await asyncio.to_thread(_write_to_disk, path, data, self._files)
            except OSError as error:
                why = error.strerror or error
                raise WorkspaceError(f"{visible(path)} was not changed: {why}.") from error
            return
        text = TextForm.of_text(document.text).spell(data.decode("utf-8"))
        outcome = await self.client.apply_edit(document, text, _EDIT_LABEL)
        if not outcome.applied:
            raise WorkspaceError(
                f"The editor did not apply the edit of {visible(path)}: {outcome.reason or 'it gave no reason'}. "
                "Nothing was changed; read the file again before you retry."
            )
        await self._remember(document.path, text)

    async def _check_resolved(self, path: str) -> None:
        """The tools are given resolved paths: a symlink in one was put there after permission was asked."""
        if await self._disk.realpath(path) != path:
            raise PermissionError(errno.EACCES, "A symlink appeared in the path meanwhile", path)

    async def _remember(self, path: Path, text: str) -> None:
        """Wait a moment for the editor to tell of the edit; what is late is known until it is told.

        Neovim sends its changes up to 150 ms after they are made.
        """
        before = self.client.open_documents().get(path)
        if before is None or before.text == text:
            return
        self._accepted[path] = (before, text)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LATEST_CHANGE_SECONDS):
                while self.client.open_documents().get(path) == before:  # noqa: ASYNC110  # the port has no event
                    await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def stat(self, path: str) -> FileEntry:
        """What is at `path`; an open document is a file, also when it was never saved."""
        document = self.document(path)
        if document is None:
            return await self._disk.stat(path)
        return _entry(document, path)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """The entries of a directory on the disk and of documents not saved yet, names with control codes spelled."""
        await self._check_resolved(path)
        # What has no size and is no directory is a symlink that leads nowhere or in a loop: the harness would fail.
        listed = [entry for entry in await self._disk.list_dir(path) if entry.is_dir or entry.size is not None]
        entries = {entry.path: entry for entry in listed}
        real = Path(await self._disk.realpath(path))
        for document in self.client.open_documents().values():
            if document.path.parent == real:
                spelled = os.path.join(path, document.path.name)  # noqa: PTH118  # paths are strings in this protocol
                entries[spelled] = _entry(self._as_accepted(document), spelled)
        return [_presentable(entry) for entry in entries.values()]

    async def make_dir(self, path: str) -> None:
        """As the disk does."""
        await self._check_resolved(path)
        await self._disk.make_dir(path)

    async def remove(self, path: str) -> None:
        """As the disk does."""
        await self._disk.remove(path)

    async def exists(self, path: str) -> bool:
        """Whether the editor or the disk has it."""
        return self.document(path) is not None or await self._disk.exists(path)

    async def realpath(self, path: str) -> str:
        """`path` with its symlinks followed."""
        return await self._disk.realpath(path)


def _entry(document: OpenDocument, path: str) -> FileEntry:
    size = len(document.text.encode("utf-8", "replace"))
    return FileEntry(name=Path(path).name, path=path, is_dir=False, size=size)


def _presentable(entry: FileEntry) -> FileEntry:
    """A name must not forge a line of a listing; one that would is shown spelled out, and cannot be opened."""
    if entry.name.isprintable():
        return entry
    parent = os.path.dirname(entry.path)  # noqa: PTH120  # paths are strings in this protocol
    return FileEntry(
        name=visible(entry.name), path=f"{parent}/{visible(entry.name)}", is_dir=entry.is_dir, size=entry.size
    )


def _saved(document: OpenDocument) -> bool:
    try:
        raw = _read_regular(document.path)
    except OSError:
        return False
    form = TextForm.of_bytes(raw)
    return form is not None and form.text == TextForm.of_text(document.text).text


def _read_regular(path: Path) -> bytes:
    """The bytes of a regular file; OSError for a FIFO or device, which could block or never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"not a regular file: {path}")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _write_to_disk(spelling: str, data: bytes, files: Files) -> None:
    """Replace the file in one step, through symlinks, in its own text form and with its own mode."""
    path = Path(os.path.realpath(spelling))
    mode = None
    with contextlib.suppress(FileNotFoundError):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"not a regular file: {path}")
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "The file is read-only", str(path))
        mode = stat.S_IMODE(status.st_mode)
        form = TextForm.of_bytes(_read_regular(path))
        if form is not None and not form.is_plain:
            data = form.spell_bytes(data.decode("utf-8"))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data, files, mode=mode)
