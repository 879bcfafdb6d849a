"""Hypothesis strategies for messages, and small builders for tests that need a certain one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from agent_ls.log.serialisation import dump_messages

text = st.text(max_size=12) | st.sampled_from(
    ["\u2028", "\u2029", "\x85", "\r\n", "\x00", "\ud800", "a\udcffb", "\ufdd0d800", "\\ud800", '","messages":[']
)
# Two halves in a row are one character in JSON, whatever wrote them: not lone, so not promised.
lone_text = text.map(lambda value: value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))
call_ids = st.sampled_from(["a", "b", "c"])
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | lone_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(lone_text, inner, max_size=3),
    max_leaves=6,
)

request_parts: st.SearchStrategy[ModelRequestPart] = st.one_of(
    lone_text.map(UserPromptPart),
    st.builds(ToolReturnPart, tool_name=st.just("read"), content=json_values, tool_call_id=call_ids),
)
response_parts: st.SearchStrategy[ModelResponsePart] = st.one_of(
    lone_text.map(TextPart),
    st.builds(ThinkingPart, content=lone_text, signature=st.none() | lone_text),
    st.builds(
        ToolCallPart,
        tool_name=st.just("read"),
        args=st.none() | st.dictionaries(lone_text, json_values, max_size=2) | lone_text,
        tool_call_id=call_ids,
    ),
)
requests = st.lists(request_parts, min_size=1, max_size=3).map(lambda parts: ModelRequest(parts=parts))
responses = st.lists(response_parts, min_size=1, max_size=3).map(lambda parts: ModelResponse(parts=parts))
messages = st.one_of(requests, responses)


def prompt(content: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(content)])


def answer(content: str, input_tokens: int = 0) -> ModelResponse:
    return ModelResponse(parts=[TextPart(content)], usage=RequestUsage(input_tokens=input_tokens))


def calls(*ids: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("read", {"path": each}, each) for each in ids])


def results(*ids: str, content: str = "bytes") -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("read", content, each) for each in ids])


def dump(messages: Iterable[ModelMessage]) -> list[bytes]:
    """What tells whether two histories are the same: a reload keeps the serialised form, not Python equality."""
    return [dump_messages([message]) for message in messages]
