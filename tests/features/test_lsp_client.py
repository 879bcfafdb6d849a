"""What the agent asks of an editor, and what it makes of every kind of answer. No answer means no."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.raw_client import RawClient
from tests.features.conftest import Start

ASKS = {"agent": {"permission": True}}
SHOWS: dict[str, Any] = {"window": {"showMessage": {}}}
VERSIONS = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
NO = {"outcome": "cancelled"}


def selected(option: str | None, **more: Any) -> Any:
    return lambda params: {"outcome": {"outcome": "selected", "optionId": option, **more}}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (selected("allow_once"), {"outcome": "selected", "optionId": "allow_once"}),
        (
            selected("reject_once", reason="Not that file."),
            {"outcome": "selected", "optionId": "reject_once", "reason": "Not that file."},
        ),
        (lambda params: {"outcome": {"outcome": "cancelled"}}, NO),
        (selected("allow_everything"), NO),
        (selected(None), NO),
        (lambda params: {"outcome": "selected"}, NO),
        (lambda params: None, NO),
        (lambda params: True, NO),
        (None, NO),
    ],
)
def test_permission_is_what_the_client_answers(start: Start, answer: Any, outcome: Any) -> None:
    client = start(answers={"agent/requestPermission": answer} if answer else {}, **ASKS)
    assert client.request("test/ask", {}) == outcome
    (asked,) = client.notifications("agent/requestPermission")
    assert asked["toolCall"]["content"][0]["type"] == "diff"
    assert [option["optionId"] for option in asked["options"]] == ["allow_once", "reject_once"]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"title": "Allow"}, {"outcome": "selected", "optionId": "allow_once"}),
        ({"title": "Reject"}, {"outcome": "selected", "optionId": "reject_once"}),
        ({"title": "Something else"}, NO),
        (None, NO),
        ("Allow", NO),
    ],
)
def test_a_client_that_can_only_show_messages_is_shown_the_diff(start: Start, answer: Any, outcome: Any) -> None:
    client = start(SHOWS, answers={"window/showMessageRequest": lambda params: answer})
    assert client.request("test/ask", {}) == outcome
    (shown,) = client.notifications("window/showMessageRequest")
    assert {"-old", "+new"} <= set(shown["message"].splitlines())


def test_a_long_diff_is_cut_in_a_message(start: Start) -> None:
    client = start(SHOWS, answers={"window/showMessageRequest": lambda params: None})
    client.request("test/ask", {"lines": 1000})
    (shown,) = client.notifications("window/showMessageRequest")
    assert shown["message"].endswith("more lines")
    assert len(shown["message"].splitlines()) < 50


def test_a_client_that_can_show_nothing_means_no(start: Start) -> None:
    client = start()
    assert client.request("test/ask", {}) == NO
    assert not [message for message in client.messages if "method" in message]


def test_what_was_asked_ends_with_the_connection(start: Start) -> None:
    """The process does not wait for an answer nobody can give."""
    client = start(**ASKS)
    client.answers["agent/requestPermission"] = lambda params: client.process.stdin and client.process.stdin.close()
    client.start_request("test/ask", {})
    with pytest.raises((EOFError, ValueError, BrokenPipeError)):
        client.wait_for(lambda message: False)
    assert client.process.wait(10) == 0


# --- documents --------------------------------------------------------------------------------------------------------


def opened(client: RawClient, path: Path, text: str) -> None:
    item = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": item})


def changed(client: RawClient, path: Path, version: int, *changes: Any) -> None:
    identifier = {"uri": path.as_uri(), "version": version}
    client.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": changes})


def test_fault_51_form_feeds_and_separators_do_not_shift_lines(start: Start, tmp_path: Path) -> None:
    client = start({"general": {"positionEncodings": ["utf-8", "utf-16"]}})
    path = tmp_path / "a.c"
    opened(client, path, "a\x0cb\u2028😀\nc\n")
    place = {"start": {"line": 0, "character": 6}, "end": {"line": 1, "character": 0}}
    changed(client, path, 2, {"range": place, "text": "!"})
    assert client.request("test/text", {"path": str(path)}) == {"text": "a\x0cb\u2028😀!c\n", "version": 2}


def test_fault_51_an_edit_goes_through_the_editor_with_its_version(start: Start, tmp_path: Path) -> None:
    client = start(VERSIONS, answers={"workspace/applyEdit": lambda params: {"applied": True}})
    path = tmp_path / "a.py"
    opened(client, path, "one\ntwo\nthree\n")
    edited = client.request("test/edit", {"path": str(path), "newText": "one\n2\nthree\n"})
    assert edited == {"applied": True, "reason": None}
    (params,) = client.notifications("workspace/applyEdit")
    (edit,) = params["edit"]["documentChanges"]
    assert edit["textDocument"] == {"uri": path.as_uri(), "version": 1}
    assert edit["edits"] == [
        {"range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}, "newText": "2\n"}
    ]


def test_fault_51_an_edit_of_stale_text_asks_for_nothing(start: Start, tmp_path: Path) -> None:
    client = start(VERSIONS)
    path = tmp_path / "a.py"
    opened(client, path, "one\n")
    edited = client.request("test/edit", {"path": str(path), "newText": "two\n", "stale": True})
    assert edited == {"applied": False, "reason": "the document has changed in the editor"}
    assert client.notifications("workspace/applyEdit") == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda params: {"applied": False}, "the editor refused it"),
        (lambda params: {"applied": False, "failureReason": "read-only"}, "read-only"),
        (lambda params: {}, "the editor refused the edit"),
        (None, "the editor refused the edit"),
    ],
)
def test_a_refused_edit_says_why(start: Start, tmp_path: Path, answer: Any, reason: str) -> None:
    client = start(VERSIONS, answers={"workspace/applyEdit": answer} if answer else {})
    path = tmp_path / "a.py"
    opened(client, path, "one\n")
    edited = client.request("test/edit", {"path": str(path), "newText": "two\n"})
    assert edited["applied"] is False
    assert edited["reason"].startswith(reason)


def test_without_versions_what_was_typed_meanwhile_is_seen(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    client = start()

    def typed_first(params: Any) -> Any:
        changed(client, path, 2, {"text": "typed\n"})
        return {"applied": True}

    client.answers["workspace/applyEdit"] = typed_first
    opened(client, path, "one\n")
    edited = client.request("test/edit", {"path": str(path), "newText": "two\n"})
    assert edited["applied"] is False
    assert list(client.notifications("workspace/applyEdit")[0]["edit"]) == ["changes"]
