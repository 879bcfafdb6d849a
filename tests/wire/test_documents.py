"""What the editor holds is what we hold, whatever the text has in it (FAULTS 51)."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lsprotocol import types

from agent_ls.file_uris import path_of
from agent_ls.wire.documents import OpenDocuments, changed_text, line_edit

TEXT = st.text(st.sampled_from("ab\n\r\x0c\u2028\x85é😀\ud83d"), max_size=20)


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def positions(text: str) -> list[tuple[types.Position, int]]:
    """Every position of a text and its index, counted the slow way."""
    found, line, start, index = [], 0, 0, 0
    while True:
        if not text.startswith("\n", index) or not text.startswith("\r", index - 1) or index == 0:
            found.append((types.Position(line, units(text[start:index])), index))
        if index == len(text):
            return found
        if text[index] in "\r\n":
            index += 2 if text.startswith("\r\n", index) else 1
            line, start = line + 1, index
        else:
            index += 1


def change(start: types.Position, end: types.Position, text: str) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(range=types.Range(start, end), text=text)


@given(st.data(), TEXT, TEXT)
def test_fault_51_a_change_goes_where_the_editor_made_it(data: st.DataObject, text: str, new: str) -> None:
    places = positions(text)
    first = data.draw(st.integers(0, len(places) - 1))
    (start, i), (end, j) = places[first], places[data.draw(st.integers(first, len(places) - 1))]
    assert changed_text(text, change(start, end, new)) == text[:i] + new + text[j:]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (types.Position(0, 9), types.Position(0, 99), "ab!\ncd"),
        (types.Position(9, 0), types.Position(9, 9), "ab\ncd!"),
        (types.Position(0, 1), types.Position(99, 0), "a!"),
    ],
)
def test_a_range_that_leaves_the_text_is_cut(start: types.Position, end: types.Position, expected: str) -> None:
    assert changed_text("ab\ncd", change(start, end, "!")) == expected


@given(TEXT, TEXT)
@example("a", "a\nb")
@example("a\r", "a\r\n")
@example("", "a")
@example("a\n\nb", "a\nb")
def test_an_edit_of_ours_turns_the_old_text_into_the_new(old: str, new: str) -> None:
    edit = line_edit(old, new)
    assert changed_text(old, change(edit.range.start, edit.range.end, edit.new_text)) == new


@given(TEXT, TEXT, st.sampled_from(["\n", "\r\n", "\r"]))
@example("x = 1", "x = 2", "\n")
@example("", "a", "\n")
@example("a", "", "\n")
@example("a\nb", "a", "\n")
def test_no_edit_of_ours_reaches_behind_the_last_line(old: str, new: str, line_end: str) -> None:
    old, new = old.rstrip("\r\n") + line_end, new.rstrip("\r\n") + line_end
    edit = line_edit(old, new)
    last, _ = positions(old)[-1]
    assert edit.range.end.line < last.line
    assert changed_text(old, change(edit.range.start, edit.range.end, edit.new_text)) == new


def test_an_edit_leaves_alone_what_did_not_change() -> None:
    edit = line_edit("one\ntwo\nthree\n", "one\n2\nthree\n")
    assert edit == types.TextEdit(types.Range(types.Position(1, 0), types.Position(2, 0)), "2\n")


def opened(uri: str, text: str = "a") -> types.TextDocumentItem:
    return types.TextDocumentItem(uri, types.LanguageKind.Python, 1, text)


def test_documents_are_known_by_path_until_they_are_closed(tmp_path: Path) -> None:
    documents = OpenDocuments()
    uri = (tmp_path / "a b.py").as_uri()
    documents.opened(opened(uri, "x = 1\n"))
    everything = [types.TextDocumentContentChangeWholeDocument("y = 2\n")]
    identifier = types.VersionedTextDocumentIdentifier(version=2, uri=uri.replace("%20", " "))
    documents.changed(types.DidChangeTextDocumentParams(identifier, everything))
    document = documents.by_path()[tmp_path / "a b.py"]
    assert (document.text, document.version, document.uri) == ("y = 2\n", 2, uri)
    documents.closed(uri)
    assert documents.by_path() == {}
    documents.changed(types.DidChangeTextDocumentParams(identifier, everything))
    assert documents.get(uri) is None


@pytest.mark.parametrize(
    "uri", ["untitled:Untitled-1", "git:/w/a.py?ref", "output:1", "", "file://[bad/a", "file:///a%00b"]
)
def test_what_is_no_file_of_this_machine_is_no_document(uri: str) -> None:
    documents = OpenDocuments()
    documents.opened(opened(uri))
    assert documents.by_path() == {}
    assert path_of(uri) is None
