from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.log.codec import BadLine, decode, encode, read_head, salvage
from agent_ls.log.entries import (
    CompactionEntry,
    CompactionRecord,
    Header,
    MemoryEntry,
    MessagesEntry,
    Totals,
    TurnEntry,
    UndoEntry,
    UnknownEntry,
    Unreadable,
    WritableEntry,
)
from agent_ls.protocol import CompactionId, SessionId, TurnId, TurnUsage
from agent_ls.tokens import Tokens

from .strategies import answer, calls, messages, prompt, results

AT = datetime(2026, 12, 1, 10, 30, 0, 123000, tzinfo=UTC)
TOTALS = Totals(turns=1, requests=2, input_tokens=3, output_tokens=4, cache_read_tokens=5, cost=0.25, answered=6)
RECORD = CompactionRecord(
    at=AT,
    compaction_id=CompactionId("c1"),
    trigger="turnEnd",
    before=Tokens.measured(900),
    after=Tokens.estimated(100),
    covers=7,
    tail_ordinals=(5, None),
    next_ordinal=6,
    totals=TOTALS,
    cost=0.01,
)
ENTRIES: list[WritableEntry] = [
    Header(1, SessionId("0123"), "/home/a \ud800\u2028", AT, "0.1.0"),
    MessagesEntry(AT, 3, (prompt("hello"), answer("world")), title='say ","messages":[ "hello"'),
    CompactionEntry(RECORD, prompt("summary"), (calls("a"), results("a"))),
    UndoEntry(AT, CompactionId("c1")),
    TurnEntry(AT, TurnId("t1"), "end_turn", TurnUsage(1, 2, 3, 4), None, 8, TOTALS, error="no\nkey"),
    MemoryEntry(AT, 8, "Fixed the parser."),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_an_entry_is_one_line_and_comes_back(entry: WritableEntry) -> None:
    line = encode(entry)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert encode(decode(line)) == line  # type: ignore[arg-type]  # decode of what we wrote is no UnknownEntry
    if not isinstance(entry, MessagesEntry | CompactionEntry):
        assert decode(line) == entry


def _texts(message: ModelMessage) -> list[Any]:
    return [
        (type(part).__name__, *(getattr(part, name, None) for name in ("content", "args", "signature", "tool_call_id")))
        for part in message.parts
    ]


@given(st.lists(messages, max_size=4))
def test_fault_32_any_text_round_trips_exactly(logged: list[ModelMessage]) -> None:
    line = encode(MessagesEntry(AT, 0, tuple(logged)))
    assert line.count(b"\n") == 1
    entry = decode(line)
    assert isinstance(entry, MessagesEntry)
    back = [message for message in entry.messages if not isinstance(message, Unreadable)]
    assert [_texts(message) for message in back] == [_texts(message) for message in logged]


@pytest.mark.parametrize("text", ["\u2028", "\x85", "\ud800", "\udfff x", "\r", "\r\n", "\x00", "\ufdd0", "\ufdd0d800"])
def test_fault_32_each_odd_character_in_every_place(text: str) -> None:
    message = ModelRequest(
        parts=[UserPromptPart([text, "b"]), ToolReturnPart("t", {text: [text]}, "c", metadata={text: text})],
        metadata={text: text},
    )
    entry = decode(encode(MessagesEntry(AT, 0, (message, ModelResponse([ToolCallPart("t", text, "c")])))))
    assert isinstance(entry, MessagesEntry)
    request, response = entry.messages
    assert isinstance(request, ModelRequest)
    assert isinstance(response, ModelResponse)
    assert [part.content for part in request.parts] == [[text, "b"], {text: [text]}]  # type: ignore[union-attr]
    assert request.metadata == {text: text}
    assert response.parts[0].args == text  # type: ignore[union-attr]


def test_messages_are_in_pydantic_ais_own_serialisation() -> None:
    logged: list[ModelMessage] = [prompt("é\u2028"), calls("a", "b"), results("a", "b")]
    body = encode(MessagesEntry(AT, 0, tuple(logged))).split(b',"messages":', 1)[1]
    assert body == ModelMessagesTypeAdapter.dump_json(logged) + b"}\n"


def test_a_picture_beside_a_surrogate_keeps_its_bytes() -> None:
    picture = BinaryContent(bytes(range(256)), media_type="image/png")
    entry = decode(encode(MessagesEntry(AT, 0, (ModelRequest([UserPromptPart(["\ud800", picture])]),))))
    assert isinstance(entry, MessagesEntry)
    part = entry.messages[0].parts[0]  # type: ignore[union-attr]
    assert part.content[0] == "\ud800"  # type: ignore[union-attr,index,literal-required]
    assert part.content[1].data == bytes(range(256))  # type: ignore[union-attr,index,literal-required]


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Shouting:
    def __repr__(self) -> str:
        return "Shouting \ud800"


@dataclasses.dataclass
class Foreign:
    name: str
    inner: object


def _cycle() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def _deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "content",
    [
        object(),
        Rude(),
        Shouting(),
        Foreign("x", Rude()),
        {1: object(), (1, 2): "tuple key"},
        {"\ud800": Path("/a/\udcff")},
        _cycle(),
        _deep(150),
        _deep(300),
        _deep(5000),
        float("nan"),
        {1, 2},
        b"\xff\xfe",
        lambda: None,
        type,
    ],
    ids=lambda value: type(value).__name__,
)
def test_unserialisable_content_becomes_text_and_never_raises(content: Any) -> None:
    message = ModelRequest([ToolReturnPart("t", content, "c", metadata={"m": content}), UserPromptPart("kept \ud800")])
    entry = decode(encode(MessagesEntry(AT, 0, (message, answer("next")))))
    assert isinstance(entry, MessagesEntry)
    first, second = entry.messages
    assert isinstance(first, ModelRequest)
    assert isinstance(second, ModelResponse)
    assert first.parts[0].tool_call_id == "c"  # type: ignore[union-attr]
    assert first.parts[1].content == "kept \ud800"  # type: ignore[union-attr]
    assert second.parts == [TextPart("next")]


def test_a_part_kind_of_the_future_is_left_out_and_the_rest_of_the_line_is_used() -> None:
    line = encode(MessagesEntry(AT, 4, (prompt("one"), answer("two"))))
    line = line.replace(b'"part_kind":"user-prompt"', b'"part_kind":"hologram"')
    entry = decode(line)
    assert isinstance(entry, MessagesEntry)
    assert isinstance(entry.messages[0], Unreadable)
    assert "hologram" in entry.messages[0].reason or "part" in entry.messages[0].reason
    assert entry.messages[1].parts == [TextPart("two")]  # type: ignore[union-attr]


def test_a_type_of_the_future_is_kept_apart() -> None:
    assert decode(b'{"type":"weather","at":"soon"}\n') == UnknownEntry("weather")


def test_fields_of_the_future_are_ignored() -> None:
    line = encode(ENTRIES[4]).replace(b'"turn_id"', b'"mood":"good","turn_id"')
    assert decode(line) == ENTRIES[4]


def test_the_order_of_fields_does_not_matter() -> None:
    line = encode(ENTRIES[1])
    head, body = line.removesuffix(b"}\n").split(b',"messages":', 1)
    turned = b'{"messages":' + body + b"," + head.removeprefix(b"{") + b"}\n"
    assert encode(decode(turned)) == line  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"null",
        b"[]",
        b'"messages"',
        b"{}",
        b'{"type":7}',
        b'{"type":"messages"}',
        b'{"type":"messages","at":"2026-12-01T10:30:00Z","ordinal":0}',
        b'{"type":"messages","at":"2026-12-01T10:30:00Z","ordinal":-1,"messages":[]}',
        b'{"type":"messages","at":"2026-12-01T10:30:00","ordinal":0,"messages":[]}',
        b'{"type":"messages","at":"yesterday","ordinal":0,"messages":[]}',
        b'{"type":"messages","at":"0001-01-01T00:00:00+05:00","ordinal":0,"messages":[]}',
        b'{"type":"undo_compaction","at":7,"compaction_id":"c"}',
        b'{"type":"compaction","summary":{},"tail":[]}',
        b'{"type":"header","version":1}',
        b"\xff\xfe{}",
        b"\0" * 100,
        b"[" * 100_000,
        b'{"type":"messages","at":"2026-12-01T10:30:00Z","ordinal":0,"messages":' + b"[" * 100_000,
        b'{"type":"messages","at":"2026-12-01T10:30:00Z","ordinal":' + b"9" * 5000 + b',"messages":[]}',
        encode(ENTRIES[1])[:-20],
        encode(ENTRIES[2]).replace(b'"tail_ordinals":[5,null]', b'"tail_ordinals":[5]'),
        encode(ENTRIES[2]).replace(b'"count":900', b'"count":-900'),
        encode(ENTRIES[2]).replace(b'"part_kind":"tool-call"', b'"part_kind":"hologram"'),
        encode(ENTRIES[2]).replace(b'"trigger":"turnEnd"', b'"trigger":"whim"'),
    ],
)
def test_a_line_that_is_no_entry_is_refused_with_a_reason(line: bytes) -> None:
    with pytest.raises(BadLine) as refused:
        decode(line)
    assert str(refused.value)


@given(st.data())
def test_no_change_of_bytes_makes_decoding_fail_otherwise(data: st.DataObject) -> None:
    line = bytearray(encode(data.draw(st.sampled_from(ENTRIES))))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(line) - 1))
        line[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        line = line or bytearray(b"x")
    try:
        entry = decode(bytes(line))
    except BadLine:
        entry = None
    salvage(bytes(line))
    if entry is not None and not isinstance(entry, UnknownEntry | MessagesEntry):
        encode(entry)


def test_the_line_behind_a_torn_one_is_salvaged() -> None:
    torn, whole = encode(ENTRIES[1])[:150], encode(ENTRIES[4])
    assert salvage(torn + whole) == ENTRIES[4]
    assert salvage(b"\0" * 512 + whole) == ENTRIES[4]


def test_nothing_is_salvaged_out_of_the_middle_of_a_line() -> None:
    nested = calls("a")
    nested.parts = [ToolCallPart("write", {"type": "turn", "x": "y"}, "a")]
    line = encode(MessagesEntry(AT, 0, (nested,)))
    assert salvage(line[:-4]) is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_the_head_of_a_line_is_read_without_its_messages(entry: WritableEntry) -> None:
    line = encode(entry)
    cut = line.find(b'"parts"')
    head = read_head(line if cut < 0 else line[:cut])
    assert "messages" not in head or isinstance(entry, TurnEntry)
    if isinstance(entry, MessagesEntry):
        assert head["title"] == entry.title
        assert (head["ordinal"], head["count"], head["responses"]) == (3, 2, 1)
