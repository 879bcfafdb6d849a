"""The demo's provider: recorded calls round by round, then words; counts that are a tokenizer's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agent_ls import local_model
from agent_ls.compaction.transcript import CLOSE, OPEN
from agent_ls.demo.local_text import LocalText
from agent_ls.demo.provider import DemoProvider
from agent_ls.demo.script import FIX, READ_AGAIN, RECALL, STEPS, Step

Json = Mapping[str, Any]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> DemoProvider:
    """One without a local model: its words are canned."""
    monkeypatch.setattr(local_model, "is_installed", lambda: False)
    return DemoProvider(LocalText())


def ask(provider: DemoProvider, messages: Sequence[Json], **more: Any) -> Any:
    return json.loads(b"".join(provider.answer({"messages": messages, **more})))


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def result(text: str = "done") -> Json:
    return {"role": "tool", "tool_call_id": "x", "content": text}


def called(response: Json) -> list[str]:
    return [call["function"]["name"] for call in response["choices"][0]["message"].get("tool_calls", [])]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.prompt[:20])
def test_each_prompt_gets_its_recorded_rounds_and_then_words(provider: DemoProvider, step: Step) -> None:
    messages = [user("an older prompt"), user(step.prompt)]
    for calls in step.rounds:
        response = ask(provider, messages)
        assert called(response) == [call.tool for call in calls]
        assert response["choices"][0]["finish_reason"] == "tool_calls"
        messages += [result() for _ in calls]
    last = ask(provider, messages)["choices"][0]
    assert (last["finish_reason"], last["message"]["content"]) == ("stop", step.say)


def test_a_prompt_that_a_compaction_moved_behind_the_summary_is_the_one_that_runs(provider: DemoProvider) -> None:
    moved = user(f"# Conversation summary\n{FIX.prompt}\n{RECALL.prompt}\n{READ_AGAIN.prompt}")
    assert ask(provider, [moved, result(), result()])["choices"][0]["message"]["content"] == READ_AGAIN.say


def test_what_recall_is_asked_for_comes_from_what_it_found(provider: DemoProvider) -> None:
    found = (
        "message-31.0 (result of write_file, 90 characters): …x…\n"
        "message-10.2 (result of read_file, 4000 characters): …y…"
    )
    response = ask(provider, [user(RECALL.prompt), result(found)])
    arguments = json.loads(response["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])
    assert arguments["id"] == "message-10.2"
    assert 3_500 < arguments["offset"] < 4_000


def test_a_request_for_a_summary_is_told_from_a_prompt(provider: DemoProvider) -> None:
    request = user(f"{OPEN}\n[user]\n{FIX.prompt}\n{CLOSE}\n\nWrite the record now.")
    assert not called(ask(provider, [request]))


def test_a_stream_says_the_same_and_ends_with_the_usage(provider: DemoProvider) -> None:
    messages = [user(FIX.prompt), *(result() for calls in FIX.rounds for _ in calls)]
    whole = ask(provider, messages)
    body = b"".join(provider.answer({"messages": messages, "stream": True})).decode()
    frames = [line.removeprefix("data: ") for line in body.splitlines() if line]
    assert frames[-1] == "[DONE]"
    events = [json.loads(frame) for frame in frames[:-1]]
    said = "".join(event["choices"][0]["delta"].get("content", "") for event in events if event["choices"])
    assert said == whole["choices"][0]["message"]["content"] == FIX.say
    assert events[-1]["usage"] == whole["usage"]


def test_every_message_and_tool_is_counted(provider: DemoProvider) -> None:
    small = ask(provider, [user(FIX.prompt)])["usage"]
    more = ask(provider, [user("x" * 3_000), user(FIX.prompt)])["usage"]
    tools = ask(provider, [user(FIX.prompt)], tools=[{"description": "y" * 3_000}])["usage"]
    assert more["prompt_tokens"] - small["prompt_tokens"] > 900
    assert tools["prompt_tokens"] - small["prompt_tokens"] > 900
    assert small["total_tokens"] == small["prompt_tokens"] + small["completion_tokens"]
