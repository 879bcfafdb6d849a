"""What the editor's open documents say, kept in step by didOpen, didChange and didClose (LSP 3.17 "Text Documents").

A line ends with `\\n`, `\\r\\n` or `\\r` and with nothing else, and characters are UTF-16 units. pygls' own documents
split at form feeds and U+2028 too, and put the next edit in the wrong place (docs/adr/0006-hardened-wire.md).
"""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from agent_ls.client import OpenDocument
from agent_ls.file_uris import path_of

if TYPE_CHECKING:
    from cattrs import Converter
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_FIRST_WITH_TWO_UNITS: Final = 0x10000


class OpenDocuments:
    """The open documents that are files of this machine, by URI and by path. Others are not the agent's matter."""

    def __init__(self) -> None:
        # Keyed by the URI without its escapes: a client may escape a character in one message and not in the next.
        self._by_uri: dict[str, OpenDocument] = {}

    def opened(self, item: types.TextDocumentItem) -> None:
        """didOpen."""
        path = path_of(item.uri)
        if path is not None:
            self._by_uri[unquote(item.uri)] = OpenDocument(path, item.uri, item.text, item.version)

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """didChange: the changes in their order, each against the text the one before left."""
        document = self.get(params.text_document.uri)
        if document is None:
            logger.debug("a change of a document that is not open: %s", params.text_document.uri)
            return
        text = document.text
        for change in params.content_changes:
            text = changed_text(text, change)
        version = params.text_document.version
        self._by_uri[unquote(document.uri)] = OpenDocument(document.path, document.uri, text, version)

    def closed(self, uri: str) -> None:
        """didClose."""
        self._by_uri.pop(unquote(uri), None)

    def get(self, uri: str) -> OpenDocument | None:
        """The document, None if it is not open."""
        return self._by_uri.get(unquote(uri))

    def by_path(self) -> Mapping[Path, OpenDocument]:
        """The documents as they are now; a later change shows in a later call."""
        return {document.path: document for document in self._by_uri.values()}


class DocumentSync(LanguageServerProtocol):
    """pygls' protocol with documents of our own."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.documents = OpenDocuments()

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Into our documents."""
        self.documents.opened(params.text_document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Into our documents."""
        self.documents.changed(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Out of our documents."""
        self.documents.closed(params.text_document.uri)


def changed_text(text: str, change: types.TextDocumentContentChangeEvent) -> str:
    """`text` after one change. A range that leaves the text is cut to it, as LSP says."""
    if not isinstance(change, types.TextDocumentContentChangePartial):
        return change.text
    start = _offset(text, change.range.start)
    end = max(start, _offset(text, change.range.end))
    return text[:start] + change.text + text[end:]


def line_edit(old: str, new: str) -> types.TextEdit:
    """An edit of whole lines that turns `old` into `new`, so that cursors and marks elsewhere stay put.

    Where both end in the same line end, the edit leaves the last one alone. Behind it stands a line for LSP that
    Neovim's buffer does not have: an edit that reaches there is made in steps, each of which Neovim tells the server.
    """
    before, after = _LINE.findall(old), _LINE.findall(new)
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    start, end = len("".join(before[:head])), len("".join(before[: len(before) - tail]))
    text = "".join(after[head : len(after) - tail])
    if end == len(old) and before and after and (line_end := _line_end(before[-1])) == _line_end(after[-1]):
        if not (start < end and text):
            # Lines are added or removed behind the last one that stays: its line end is theirs.
            start, text = start - len(line_end), line_end + text
        end, text = end - len(line_end), text.removesuffix(line_end)
    return types.TextEdit(types.Range(_position(old, start), _position(old, end)), text)


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _position(text: str, offset: int) -> types.Position:
    """The LSP position of an index in `text`, which is not inside a line end."""
    lines = _LINE.findall(text[:offset])
    if not lines or _line_end(lines[-1]):
        return types.Position(len(lines), 0)
    return types.Position(len(lines) - 1, sum(map(_units, lines[-1])))


def _offset(text: str, position: types.Position) -> int:
    """The index in `text` of an LSP position."""
    start = 0
    if position.line > 0:
        before = next(itertools.islice(_LINE_END.finditer(text), position.line - 1, None), None)
        if before is None:
            return len(text)
        start = before.end()
    line_end = _LINE_END.search(text, start)
    line = text[start : line_end.start() if line_end else len(text)]
    if line.isascii():
        return start + min(position.character, len(line))
    units = 0
    for index, character in enumerate(line):
        if units >= position.character:
            return start + index
        units += _units(character)
    return start + len(line)


def _units(character: str) -> int:
    return 2 if ord(character) >= _FIRST_WITH_TWO_UNITS else 1
