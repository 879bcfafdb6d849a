"""Hypothesis strategies for histories as agents make them: parallel calls, reused ids, retries, pictures, thinking."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pydantic_ai.messages
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

texts = st.text(max_size=60) | st.integers(1, 40).map(lambda count: "lorem ipsum dolor sit amet, x_1 = 42\n" * count)
picture = BinaryContent(b"\x89PNG\r\n\x1a\n" + bytes(500), media_type="image/png")
prompts = texts | st.lists(texts | st.just(picture), min_size=1, max_size=3)
outputs = texts | st.sampled_from([{"rows": [1, 2]}, ["[shot.png]", picture], "x" * 20_000, None])
outcomes = st.sampled_from(["success", "success", "failed", "denied", "interrupted", "retried"])
# Local models use the same few ids again and again.
ids = st.sampled_from(["call_0", "call_1", "call_2", "call_3"])


@st.composite
def rounds(draw: st.DrawFn) -> list[ModelMessage]:
    """A response with calls and the request that answers each of them once."""
    chosen = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    parts: list[Any] = []
    if draw(st.booleans()):
        parts.append(ThinkingPart(draw(texts), signature="sig"))
    if draw(st.booleans()):
        parts.append(TextPart(draw(texts)))
    parts += [
        ToolCallPart(draw(st.sampled_from(["read_file", "run_command"])), {"path": "a.py"}, each) for each in chosen
    ]
    if draw(st.booleans()):
        parts += [NativeToolCallPart("search", {}, "native"), NativeToolReturnPart("search", draw(texts), "native")]
    results: list[Any] = [
        ToolReturnPart(
            "read_file",
            draw(outputs),
            each,
            outcome=draw(outcomes),
        )
        for each in draw(st.permutations(chosen))
    ]
    if draw(st.booleans()):
        results.append(RetryFeedbackPart(content=draw(texts), retry=RetryInfo(cause="no_output")))
    if draw(st.integers(0, 5)) == 0:
        # The user steers, or a tool sends a picture along: both are a user's part beside the results.
        results.append(UserPromptPart(draw(prompts)))
    return [_response(draw, parts), ModelRequest(parts=results)]


@st.composite
def turns(draw: st.DrawFn) -> list[ModelMessage]:
    """A prompt, some rounds, an answer."""
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(draw(prompts))])]
    for each in draw(st.lists(rounds(), max_size=4)):
        messages += each
    return [*messages, _response(draw, [TextPart(draw(texts))])]


@st.composite
def histories(draw: st.DrawFn, *, unfinished: bool | None = None) -> list[ModelMessage]:
    """Some turns; the last may be in the middle of its rounds, its newest results not seen by the model yet."""
    messages = [message for turn in draw(st.lists(turns(), max_size=5)) for message in turn]
    if draw(st.booleans()) if unfinished is None else unfinished:
        messages.append(ModelRequest(parts=[UserPromptPart(draw(prompts))]))
        for each in draw(st.lists(rounds(), max_size=3)):
            messages += each
        if draw(st.integers(0, 5)) == 0:
            # A request that failed, or was stopped before the first word, and its session goes on.
            messages += [ModelResponse(parts=[]), ModelRequest(parts=[UserPromptPart(draw(prompts))])]
    return messages


def _response(draw: st.DrawFn, parts: Sequence[Any]) -> ModelResponse:
    usage = RequestUsage(input_tokens=draw(st.integers(0, 5_000)), output_tokens=draw(st.integers(0, 500)))
    return ModelResponse(parts=list(parts), usage=usage)


def legacy_retry(content: str) -> Any:
    """The deprecated RetryPromptPart, as a caller's code may still make it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pydantic_ai.messages.RetryPromptPart(content=content, tool_name="t", tool_call_id="a")


def unpaired(messages: Sequence[ModelMessage]) -> list[str]:
    """What a provider would refuse: results without a call right before them, calls without results, by position."""
    wrong: list[str] = []
    open_calls: list[str] = []
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            wrong += [f"{index}: no result for {each}" for each in open_calls]
            open_calls = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                if part.tool_call_id in open_calls:
                    open_calls.remove(part.tool_call_id)
                else:
                    wrong.append(f"{index}: no call for {part.tool_call_id}")
    return wrong
