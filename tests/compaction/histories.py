"""Hypothesis strategies for histories as agents make them: parallel calls, reused ids, retries, pictures, thinking."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
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

# Drawn from few values, as hypothesis takes long to make texts: what matters here is how parts stand together.
texts = st.sampled_from(
    [
        "",
        "ok",
        "lorem ipsum dolor, x_1 = 42\n",
        "dòng chữ 行 \u2028 \r\n",
        *("def f(x):\n" * n for n in (4, 15, 50)),
    ]
)
picture = BinaryContent(b"\x89PNG\r\n\x1a\n" + bytes(500), media_type="image/png")
prompts: st.SearchStrategy[str | list[str | BinaryContent]] = texts | st.sampled_from(
    [["look", picture], ["one", "two", picture], ["alone"]]
)
outputs = texts | st.sampled_from([{"rows": [1, 2]}, ["[shot.png]", picture], "x" * 20_000, None])
outcomes: st.SearchStrategy[Any] = st.sampled_from(["success", "success", "failed", "denied", "interrupted", "retried"])
# Calls, and the order their results came in. Local models use the same few ids again and again.
calls = st.sampled_from(["a", "a b|b a", "a b|a b", "c", "a b c|c a b", "d c b a|a b c d"])


_FLAGS = st.sampled_from(list(product((False, True), repeat=5)))


@st.composite
def rounds(draw: st.DrawFn) -> list[ModelMessage]:
    """A response with calls and the request that answers each of them once."""
    made, _, answered = draw(calls).partition("|")
    has_thinking, has_text, has_native, has_retry, has_prompt = draw(_FLAGS)
    parts: list[Any] = []
    if has_thinking:
        parts.append(ThinkingPart(draw(texts), signature="sig"))
    if has_text:
        parts.append(TextPart(draw(texts)))
    parts += [ToolCallPart("read_file", {"path": "a.py"}, each) for each in made.split()]
    if has_native:
        parts += [NativeToolCallPart("search", {}, "native"), NativeToolReturnPart("search", draw(texts), "native")]
    results: list[Any] = [
        ToolReturnPart("read_file", draw(outputs), each, outcome=draw(outcomes)) for each in (answered or made).split()
    ]
    if has_retry:
        results.append(RetryFeedbackPart(content=draw(texts), retry=RetryInfo(cause="no_output")))
    if has_prompt:
        # The user steers, or a tool sends a picture along: both are a user's part beside the results.
        results.append(UserPromptPart(draw(prompts)))
    return [_response(draw, parts), ModelRequest(parts=results)]


@st.composite
def turns(draw: st.DrawFn) -> list[ModelMessage]:
    """A prompt, some rounds, an answer."""
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(draw(prompts))])]
    for each in draw(st.lists(rounds(), max_size=3)):
        messages += each
    return [*messages, _response(draw, [TextPart(draw(texts))])]


@st.composite
def histories(draw: st.DrawFn, *, unfinished: bool | None = None) -> list[ModelMessage]:
    """Some turns; the last may be in the middle of its rounds, its newest results not seen by the model yet."""
    messages = [message for turn in draw(st.lists(turns(), max_size=4)) for message in turn]
    if draw(st.booleans()) if unfinished is None else unfinished:
        messages.append(ModelRequest(parts=[UserPromptPart(draw(prompts))]))
        for each in draw(st.lists(rounds(), max_size=3)):
            messages += each
        if draw(st.integers(0, 5)) == 0:
            # A request that failed, or was stopped before the first word, and its session goes on.
            messages += [ModelResponse(parts=[]), ModelRequest(parts=[UserPromptPart(draw(prompts))])]
    return messages


def _response(draw: st.DrawFn, parts: Sequence[Any]) -> ModelResponse:
    counted, output = draw(st.sampled_from([(0, 0), (40, 5), (700, 0), (1_500, 90), (5_000, 500)]))
    return ModelResponse(parts=list(parts), usage=RequestUsage(input_tokens=counted, output_tokens=output))


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
