"""The simulator refuses what the real providers refuse, and nothing else."""

from __future__ import annotations

import copy
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ThinkingPart

from tests.conftest import SimulatedModel
from tests.simulator import API_KEY, Reply, Simulator

OPENAI = "/v1/chat/completions"
ANTHROPIC = "/v1/messages"


def post(simulator: Simulator, path: str, body: Any, key: str = API_KEY) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", simulator.port, timeout=20)
    try:
        connection.request("POST", path, json.dumps(body), {"authorization": f"Bearer {key}"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(window=2_000, replies=lambda request: Reply("ok")) as running:
        yield running


def openai_call(*ids: str, content: str | None = None) -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def openai_result(call_id: str, content: str = "seen") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


USER = {"role": "user", "content": "hello"}


def openai(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-5", "messages": list(messages), **more}


OPENAI_ACCEPTED = {
    "plain": openai(USER),
    "system first": openai({"role": "system", "content": "be brief"}, USER),
    "a call and its result": openai(USER, openai_call("a"), openai_result("a")),
    "parallel calls, results in any order": openai(USER, openai_call("a", "b"), openai_result("b"), openai_result("a")),
    "ids used again in a later round": openai(
        USER, openai_call("a"), openai_result("a"), openai_call("a"), openai_result("a")
    ),
    "an empty tool result": openai(USER, openai_call("a"), openai_result("a", "")),
    "text beside a call": openai(USER, openai_call("a", content="let me see"), openai_result("a"), USER),
}

OPENAI_REFUSED = {
    "no messages": (openai(), "empty array"),
    "no user": (openai({"role": "system", "content": "be brief"}), "role 'user'"),
    "unknown role": (openai({"role": "robot", "content": "hi"}), "Supported values are"),
    "null content": (openai({"role": "user", "content": None}), "expected a string, got null"),
    "blank content": (openai({"role": "user", "content": " \n"}), "must not be empty"),
    "blank text part": (openai({"role": "user", "content": [{"type": "text", "text": ""}]}), "must not be empty"),
    "empty assistant message": (openai(USER, {"role": "assistant", "content": ""}, USER), "must not be empty"),
    "unanswered call": (openai(USER, openai_call("a")), "did not have response messages: a"),
    "one of two unanswered": (openai(USER, openai_call("a", "b"), openai_result("a")), "response messages: b"),
    "answered too late": (openai(USER, openai_call("a"), USER, openai_result("a")), "response messages: a"),
    "orphaned result": (openai(USER, openai_result("a")), "must be a response to a preceeding message"),
    "result of another round": (
        openai(USER, openai_call("a"), openai_result("a"), openai_call("b"), openai_result("a"), openai_result("b")),
        "must be a response to a preceeding message",
    ),
    "answered twice": (openai(USER, openai_call("a"), openai_result("a"), openai_result("a")), "Duplicate value"),
    "duplicate call ids": (openai(USER, openai_call("a", "a"), openai_result("a")), "Duplicate value"),
    "calls of a user": (openai({**openai_call("a"), "role": "user"}, openai_result("a")), "tool_calls for role"),
    "id too long": (openai(USER, openai_call("a" * 41), openai_result("a" * 41)), "string too long"),
    "no tools but a list": (openai(USER, tools=[]), "empty array"),
    "too long": (openai({"role": "user", "content": "word " * 3_000}), "maximum context length is 2000 tokens"),
    "too long with its allowance": (
        openai({"role": "user", "content": "word " * 1_500}, max_completion_tokens=800),
        "in the completion",
    ),
}


@pytest.mark.parametrize("body", OPENAI_ACCEPTED.values(), ids=OPENAI_ACCEPTED)
def test_openai_accepts(simulator: Simulator, body: Any) -> None:
    status, answer = post(simulator, OPENAI, body)
    assert (status, answer["choices"][0]["message"]["content"]) == (200, "ok"), answer
    assert simulator.refused == []


@pytest.mark.parametrize(("body", "words"), OPENAI_REFUSED.values(), ids=OPENAI_REFUSED)
def test_openai_refuses(simulator: Simulator, body: Any, words: str) -> None:
    status, answer = post(simulator, OPENAI, body)
    assert status == 400
    assert words in answer["error"]["message"]
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert [request.refused for request in simulator.requests] == [True]
    assert simulator.exchanges == []


def use(*ids: str, thinking: dict[str, Any] | None = None) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": one, "name": "look", "input": {}} for one in ids]
    return {"role": "assistant", "content": [*([thinking] if thinking else []), *calls]}


def results(*ids: str, after: str | None = None, before: str | None = None) -> dict[str, Any]:
    def text(words: str | None) -> list[dict[str, Any]]:
        return [{"type": "text", "text": words}] if words is not None else []

    found = [{"type": "tool_result", "tool_use_id": one, "content": "seen"} for one in ids]
    return {"role": "user", "content": [*text(before), *found, *text(after)]}


def anthropic(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "claude", "max_tokens": 100, "messages": list(messages), **more}


CACHED = {"type": "text", "text": "cached", "cache_control": {"type": "ephemeral"}}

ANTHROPIC_ACCEPTED = {
    "plain": anthropic(USER),
    "a call and its result": anthropic(USER, use("a"), results("a")),
    "text after the results": anthropic(USER, use("a", "b"), results("b", "a", after="go on")),
    "results in two user messages": anthropic(USER, use("a", "b"), results("a"), results("b")),
    "two user messages in a row": anthropic(USER, USER),
    "an empty tool result": anthropic(
        USER, use("a"), {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}
    ),
    "four cache breakpoints": anthropic({"role": "user", "content": [CACHED] * 4}),
}

ANTHROPIC_REFUSED = {
    "no messages": (anthropic(), "at least one message"),
    "no max_tokens": ({"model": "claude", "messages": [USER]}, "max_tokens: Field required"),
    "system as a role": (anthropic({"role": "system", "content": "x"}, USER), 'Unexpected role "system"'),
    "assistant first": (anthropic({"role": "assistant", "content": "hi"}, USER), "first message must use"),
    "assistant last": (anthropic(USER, {"role": "assistant", "content": "hi"}), "must end with a user message"),
    "empty content": (anthropic({"role": "user", "content": []}), "non-empty content"),
    "empty text": (anthropic({"role": "user", "content": ""}), "must be non-empty"),
    "blank text": (anthropic({"role": "user", "content": " \n"}), "non-whitespace"),
    "blank text in a result": (
        anthropic(
            USER,
            use("a"),
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": ""}]}],
            },
        ),
        "must be non-empty",
    ),
    "blank system": (anthropic(USER, system=[{"type": "text", "text": ""}]), "must be non-empty"),
    "unanswered call": (anthropic(USER, use("a"), USER), "without `tool_result` blocks immediately after: a"),
    "one of two unanswered": (anthropic(USER, use("a", "b"), results("a")), "immediately after: b"),
    "orphaned result": (anthropic(results("a")), "unexpected `tool_use_id`"),
    "results after text": (anthropic(USER, use("a"), results("a", before="first")), "immediately after: a"),
    "answered twice": (anthropic(USER, use("a"), results("a", "a")), "must have a single result"),
    "duplicate call ids": (anthropic(USER, use("a", "a"), results("a")), "ids must be unique"),
    "bad call id": (anthropic(USER, use("a b"), results("a b")), "should match pattern"),
    "arguments as text": (
        anthropic(
            USER,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": "{}"}]},
            results("a"),
        ),
        "valid dictionary",
    ),
    "call of a user": (anthropic({**use("a"), "role": "user"}), "only be in `assistant`"),
    "five cache breakpoints": (anthropic({"role": "user", "content": [CACHED] * 5}), "maximum of 4 blocks"),
    "unknown block": (anthropic({"role": "user", "content": [{"type": "hologram"}]}), "does not match any"),
    "too long": (anthropic({"role": "user", "content": "word " * 3_000}), "> 2000 maximum"),
    "too long with its allowance": (
        anthropic({"role": "user", "content": "word " * 1_500}, max_tokens=800),
        "exceed context limit",
    ),
}


@pytest.mark.parametrize("body", ANTHROPIC_ACCEPTED.values(), ids=ANTHROPIC_ACCEPTED)
def test_anthropic_accepts(simulator: Simulator, body: Any) -> None:
    status, answer = post(simulator, ANTHROPIC, body)
    assert (status, answer["content"][0]["text"]) == (200, "ok"), answer
    assert simulator.refused == []


@pytest.mark.parametrize(("body", "words"), ANTHROPIC_REFUSED.values(), ids=ANTHROPIC_REFUSED)
def test_anthropic_refuses(simulator: Simulator, body: Any, words: str) -> None:
    status, answer = post(simulator, ANTHROPIC, body)
    assert status == 400
    assert answer["type"] == "error"
    assert answer["error"]["type"] == "invalid_request_error"
    assert words in answer["error"]["message"]
    assert [request.refused for request in simulator.requests] == [True]


def issued_thinking(simulator: Simulator) -> dict[str, Any]:
    simulator_reply = Reply("done", thinking="first this, then that")
    with Simulator(replies=[simulator_reply]) as issuing:
        _, answer = post(issuing, ANTHROPIC, anthropic(USER))
    block: dict[str, Any] = answer["content"][0]
    assert block["type"] == "thinking"
    return block


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"thinking": "first that, then this"}, "Invalid `signature`"),
        ({"signature": "forged"}, "Invalid `signature`"),
        ({"signature": ""}, "signature: Field required"),
    ],
)
def test_anthropic_refuses_altered_thinking(simulator: Simulator, change: dict[str, str], words: str) -> None:
    block = issued_thinking(simulator)
    whole = anthropic(USER, use("a", thinking=block), results("a"))
    assert post(simulator, ANTHROPIC, whole)[0] == 200
    altered = copy.deepcopy(whole)
    altered["messages"][1]["content"][0] |= change
    status, answer = post(simulator, ANTHROPIC, altered)
    assert (status, words in answer["error"]["message"]) == (400, True)


def test_anthropic_wants_thinking_back_inside_a_tool_round(simulator: Simulator) -> None:
    enabled = {"type": "enabled", "budget_tokens": 50}
    without = anthropic(USER, use("a"), results("a"), thinking=enabled)
    status, answer = post(simulator, ANTHROPIC, without)
    assert (status, "Expected `thinking`" in answer["error"]["message"]) == (400, True)
    kept = anthropic(USER, use("a", thinking=issued_thinking(simulator)), results("a"), thinking=enabled)
    assert post(simulator, ANTHROPIC, kept)[0] == 200


async def test_thinking_goes_back_unaltered_through_the_real_provider(simulated_model: SimulatedModel) -> None:
    with Simulator(replies=[Reply("one", thinking="secret"), Reply("two"), Reply("three")]) as simulator:
        agent = Agent(simulated_model(simulator, "anthropic:claude-sonnet-5-5").model)
        history = (await agent.run("hi")).all_messages()
        await agent.run("again", message_history=history)
        assert simulator.refused == []
        for message in history:
            for part in message.parts:
                if isinstance(part, ThinkingPart):
                    part.content = "altered"
        with pytest.raises(ModelHTTPError, match="Invalid `signature`"):
            await agent.run("again", message_history=history)


@pytest.mark.parametrize(("path", "body"), [(OPENAI, openai(USER)), (ANTHROPIC, anthropic(USER))])
def test_a_foreign_key_is_refused(simulator: Simulator, path: str, body: Any) -> None:
    status, answer = post(simulator, path, body, key="sk-real-0123")
    assert status == 401
    assert "key" in answer["error"]["message"]


@pytest.mark.parametrize("path", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize("body", [None, [], "text", {"model": "m", "max_tokens": 1, "messages": ["no object"]}])
def test_malformed_bodies_are_refused_not_fatal(simulator: Simulator, path: str, body: Any) -> None:
    assert post(simulator, path, body)[0] == 400
    good = openai(USER) if path == OPENAI else anthropic(USER)
    assert post(simulator, path, good)[0] == 200


def test_tokens_are_not_characters_divided_by_four(simulator: Simulator) -> None:
    for text in ("0123456789" * 40, "我们今天去吃饭" * 30, "internationalization " * 30):
        post(simulator, OPENAI, openai({"role": "user", "content": text}))
        guess = len(text) / 4
        assert abs(simulator.requests[-1].input_tokens - guess) > guess / 5
