"""One order, nothing lost that matters, and no memory without end while the client does not read."""

import io
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ls.protocol import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Gauge,
    SessionId,
    TextContent,
    ToolCall,
    ToolCallId,
    ToolCallUpdate,
    TurnId,
    UpdateNotification,
)
from agent_ls.tokens import Tokens
from agent_ls.wire.framing import Body, read_frames
from agent_ls.wire.outbox import Item, Outbox, framed

PATIENCE_SECONDS = 10.0


def gauge(used: int, session: str = "s") -> Gauge:
    return Gauge(
        session_id=SessionId(session),
        workspace="file:///w",
        used=Tokens.measured(used),
        window=100,
        fraction=0.0,
        percent=0,
        glyph="○",
        level="ok",
        color="green",
        tiers=[],
        text="",
        tooltip="",
        accessible_text="",
        model="m",
        cost=None,
        cache_share=None,
        last_compaction=None,
        state="idle",
        warnings=[],
    )


def text(words: str, *, session: str = "s", turn: str = "t", thought: bool = False) -> UpdateNotification:
    kind = AgentThoughtChunk if thought else AgentMessageChunk
    return UpdateNotification(SessionId(session), TurnId(turn), 0, kind(TextContent(words)))


def tool(session: str = "s", raw_input: Any = None) -> UpdateNotification:
    call = ToolCall(ToolCallId("c"), "read", "read", "pending", raw_input, [])
    return UpdateNotification(SessionId(session), TurnId("t"), 0, call)


class SlowClient:
    """Reads nothing until it is told to: the writer is held inside its first write."""

    def __init__(self) -> None:
        self.reads = threading.Event()
        self.asked = threading.Event()
        self.written = io.BytesIO()

    def write(self, data: bytes) -> int:
        self.asked.set()
        assert self.reads.wait(PATIENCE_SECONDS)
        return self.written.write(data)

    def flush(self) -> None:
        pass


def sent(items: Sequence[Item], **options: Any) -> list[dict[str, Any]]:
    """What a client gets that starts to read when all items wait; a marker holds the writer until then."""
    client = SlowClient()
    outbox = Outbox(client, on_broken=lambda: None, **options)  # type: ignore[arg-type]  # the two methods it uses
    outbox.start()
    outbox.put(framed('"held"'))
    assert client.asked.wait(PATIENCE_SECONDS)
    for item in items:
        outbox.put(item)
    client.reads.set()
    assert outbox.drain(PATIENCE_SECONDS)
    frames = list(read_frames(io.BytesIO(client.written.getvalue())))
    messages = [json.loads(frame.data) for frame in frames if isinstance(frame, Body)]
    assert messages[0] == "held"
    return messages[1:]


def updates(messages: Sequence[dict[str, Any]]) -> list[tuple[int, str, Any]]:
    params = [message["params"] for message in messages]
    return [(each["seq"], each["update"]["sessionUpdate"], each["update"].get("content")) for each in params]


def test_text_that_waits_joins_and_seq_has_no_gap() -> None:
    messages = sent([text("a"), text("b"), tool(), text("c"), text("d")])
    assert updates(messages) == [
        (1, "agent_message_chunk", {"type": "text", "text": "ab"}),
        (2, "tool_call", None),
        (3, "agent_message_chunk", {"type": "text", "text": "cd"}),
    ]


@pytest.mark.parametrize("other", [text("b", session="other"), text("b", turn="other"), text("b", thought=True)])
def test_text_of_another_message_does_not_join(other: UpdateNotification) -> None:
    assert len(sent([text("a"), other, text("c")])) == 3


def test_of_gauges_that_follow_each_other_the_newest_is_sent() -> None:
    messages = sent([gauge(1), gauge(2), gauge(3, "other"), gauge(4), text("a"), gauge(5), gauge(6)])
    shown = [(each["method"], each["params"].get("used", {}).get("count")) for each in messages]
    assert shown == [
        ("agent/gauge", 2),
        ("agent/gauge", 3),
        ("agent/gauge", 4),
        ("agent/update", None),
        ("agent/gauge", 6),
    ]


KINDS: dict[str, Callable[[int], Item]] = {
    "text": lambda number: text(f"{number},"),
    "thought": lambda number: text(f"{number},", thought=True),
    "other session": lambda number: text(f"{number},", session="other"),
    "tool": lambda number: tool(raw_input=number),
    "gauge": gauge,
    "message": lambda number: framed(json.dumps({"id": number})),
}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(sorted(KINDS)), max_size=12))
def test_order_and_every_word_are_kept(kinds: list[str]) -> None:
    messages = sent([KINDS[kind](number) for number, kind in enumerate(kinds)])
    numbers = []
    for message in messages:
        params = message.get("params", {})
        update = params.get("update", {})
        if "id" in message:
            numbers.append(message["id"])
        elif "used" in params:
            numbers.append(params["used"]["count"])
        elif update["sessionUpdate"] == "tool_call":
            numbers.append(update["rawInput"])
        else:
            numbers += [int(number) for number in update["content"]["text"].split(",") if number]
    kept = [
        number
        for number, kind in enumerate(kinds)
        if kind != "gauge" or number + 1 == len(kinds) or kinds[number + 1] != "gauge"
    ]
    assert numbers == kept
    for session in ("s", "other"):
        sequence = [
            each["params"]["seq"]
            for each in messages
            if each.get("params", {}).get("seq") and each["params"]["sessionId"] == session
        ]
        assert sequence == list(range(1, len(sequence) + 1))


def test_what_waits_is_bounded_and_responses_are_never_dropped() -> None:
    flood = [text("x" * 100), tool(raw_input="y" * 100)] * 100
    messages = sent([*flood, framed('{"id": 1}'), gauge(7)], most_waiting_bytes=1000)
    assert messages[-2] == {"id": 1}
    assert messages[-1]["params"]["used"]["count"] == 7
    assert 0 < len(messages) < 12
    assert [seq for seq, _, _ in updates(messages[:-2])] == list(range(1, len(messages) - 1))


def test_a_number_that_is_none_is_null_and_what_is_no_json_is_skipped() -> None:
    messages = sent([tool(raw_input={"n": float("nan")}), tool(raw_input=object()), text("after")])
    assert messages[0]["params"]["update"]["rawInput"] == {"n": None}
    assert updates(messages[1:]) == [(2, "agent_message_chunk", {"type": "text", "text": "after"})]


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "wb", 0) as writer:
        yield reader, writer


def test_a_client_that_is_gone_is_told_once(pipe: tuple[BinaryIO, BinaryIO]) -> None:
    reader, writer = pipe
    gone = threading.Semaphore(0)
    outbox = Outbox(writer, on_broken=gone.release)
    outbox.start()
    reader.close()
    outbox.put(b"a")
    assert gone.acquire(timeout=PATIENCE_SECONDS)
    outbox.put(b"b")
    assert outbox.drain(PATIENCE_SECONDS)
    assert not gone.acquire(blocking=False)


def test_a_client_that_does_not_read_blocks_nobody(pipe: tuple[BinaryIO, BinaryIO]) -> None:
    reader, writer = pipe
    outbox = Outbox(writer, on_broken=lambda: None)
    outbox.start()
    big = b"x" * 1_000_000
    for _ in range(3):
        outbox.put(big)
    assert not outbox.drain(0)
    assert reader.read(3 * len(big)) == 3 * big
    assert outbox.drain(PATIENCE_SECONDS)


def test_the_first_update_of_a_joined_text_keeps_its_turn() -> None:
    (message,) = sent([text("a", turn="one"), evolve(text("b", turn="one"), seq=99)])
    assert message["params"]["turnId"] == "one"
    assert message["params"]["seq"] == 1


def test_an_update_without_text_is_sent_as_it_is() -> None:
    done = UpdateNotification(SessionId("s"), TurnId("t"), 0, ToolCallUpdate(ToolCallId("c"), status="completed"))
    (message,) = sent([done])
    assert message["params"]["update"] == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "status": "completed",
    }
