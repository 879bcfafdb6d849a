"""Whatever is sent, every request is answered exactly once (PROTOCOL "Guarantees")."""

import asyncio
import io
import json
import logging
from collections import Counter
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from agent_ls.wire.framing import Body, read_frames
from agent_ls.wire.outbox import Outbox
from agent_ls.wire.server import AgentServer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
IDS = st.sampled_from([1, 2, 3, "a", "b"])
METHODS = st.sampled_from(
    [
        "agent/echo",
        "agent/never",
        "agent/unknown",
        "initialize",
        "shutdown",
        "textDocument/hover",
        "workspace/executeCommand",
        "$/cancelRequest",
        *(method for method in types.METHOD_TO_TYPES if method != types.EXIT),
    ]
)
PARAMS = JSON | st.sampled_from(
    [{"text": "a"}, {"capabilities": {}, "processId": None, "rootUri": None}, {"id": 1}, {"command": "agent.echo"}]
)
REQUESTS = st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": IDS, "method": METHODS, "params": PARAMS})
NOTIFICATIONS = st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "method": METHODS, "params": PARAMS})


@frozen
class EchoParams:
    text: str


async def echo(params: EchoParams) -> EchoParams:
    await asyncio.sleep(0)
    return params


async def never(params: Any) -> None:
    await asyncio.Event().wait()


@frozen
class NoParams:
    pass


async def answers(messages: list[Any], *, initialized: bool) -> list[Any]:
    server = AgentServer("test")
    stream = io.BytesIO()
    server.protocol.outbox = Outbox(stream, on_broken=lambda: None)
    server.protocol.outbox.start()
    server.protocol.serve("agent/echo", EchoParams, echo)
    server.protocol.serve("agent/never", NoParams, never)
    if initialized:
        hello: dict[str, Any] = {"capabilities": {}, "processId": None, "rootUri": None}
        server.protocol.handle_message({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello})
    for message in messages:
        server.protocol.handle_body(json.dumps(message).encode())
        await asyncio.sleep(0)
    server.protocol.handle_message({"jsonrpc": "2.0", "id": "bye", "method": "shutdown"})
    while rest := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(rest)
    await asyncio.sleep(0)  # what a task that is done answers is not yet said
    assert server.protocol.outbox.drain(10)
    frames = read_frames(io.BytesIO(stream.getvalue()))
    return [json.loads(frame.data) for frame in frames if isinstance(frame, Body)]


@settings(max_examples=200, deadline=None)
@given(st.lists(REQUESTS | NOTIFICATIONS, max_size=6), st.booleans())
def test_every_request_is_answered_exactly_once(messages: list[Any], initialized: bool) -> None:
    sent = Counter(message["id"] for message in messages if "id" in message)
    responses = [each for each in asyncio.run(answers(messages, initialized=initialized)) if "method" not in each]
    assert Counter(each["id"] for each in responses) - Counter(["hello", "bye"]) == sent
    assert all(("result" in each) != ("error" in each) for each in responses)


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_what_is_no_message_is_answered_with_one_error(value: Any) -> None:
    responses = asyncio.run(answers([value], initialized=True))
    assert [each["id"] for each in responses] == [
        "hello",
        None if not isinstance(value, dict) else responses[1]["id"],
        "bye",
    ]
    assert responses[1]["error"]["code"] == -32600


async def test_a_client_may_leave_while_shutdown_still_asks_it() -> None:
    server = AgentServer("test")
    asked, stopped = asyncio.Event(), asyncio.Event()

    @server.feature(types.SHUTDOWN)
    async def shutdown(params: None) -> None:
        asked.set()
        try:
            await server.protocol.ask("client/question", {})
        finally:
            stopped.set()

    hello: dict[str, Any] = {"capabilities": {}, "processId": None, "rootUri": None}
    server.protocol.handle_message({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    server.protocol.handle_message({"jsonrpc": "2.0", "id": 2, "method": "shutdown"})
    await asked.wait()
    server.protocol.leave()
    await asyncio.wait_for(stopped.wait(), 10)


async def test_a_client_cannot_answer_its_own_request(caplog: pytest.LogCaptureFixture) -> None:
    """Found by frames 20261204/11/4500: pygls keeps the ids of both directions in one table."""
    server = AgentServer("test")
    stream = io.BytesIO()
    server.protocol.outbox = Outbox(stream, on_broken=lambda: None)
    server.protocol.outbox.start()
    may_end = asyncio.Event()

    @server.feature(types.SHUTDOWN)
    async def shutdown(params: None) -> None:
        await may_end.wait()

    hello: dict[str, Any] = {"capabilities": {}, "processId": None, "rootUri": None}
    server.protocol.handle_message({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello})
    server.protocol.handle_message({"jsonrpc": "2.0", "id": 1, "method": "shutdown"})
    server.protocol.handle_message({"jsonrpc": "2.0", "id": 1, "result": "forged"})
    may_end.set()
    while rest := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(rest)
    await asyncio.sleep(0)  # what a task that is done answers is not yet said
    assert server.protocol.outbox.drain(10)
    said = [json.loads(frame.data) for frame in read_frames(io.BytesIO(stream.getvalue())) if isinstance(frame, Body)]
    assert [message["result"] for message in said if message.get("id") == 1] == [None]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
