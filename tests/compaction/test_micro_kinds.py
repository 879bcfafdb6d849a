"""Which parts are blanked, kind by kind (CASCADE §5)."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    ToolSearchReturnPart,
    UserPromptPart,
)
from pydantic_ai_harness.filesystem._tool_kinds import ReadFileReturnPart

from agent_ls.compaction.boundary import split_tail
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.micro import ELIDED, MicroResult, microcompact
from tests.compaction.histories import histories, legacy_retry

PICTURE = BinaryContent(b"\x89PNG\r\n\x1a\n" + bytes(2_000), media_type="image/png")
LONG = "line of output\n" * 20


def blank(*parts: Any) -> tuple[MicroResult, ModelMessage]:
    """A pass over a history whose second message holds these parts, and what became of it."""
    messages: list[ModelMessage] = [
        ModelResponse(parts=[ToolCallPart("t", {}, "a")]),
        ModelRequest(parts=list(parts)),
        ModelResponse(parts=[TextPart("seen")]),
        ModelRequest(parts=[UserPromptPart("go on")]),
    ]
    estimator = Estimator()
    result = microcompact(messages, split_tail(messages, 0, estimator), estimator)
    return result, result.messages[1]


@pytest.mark.parametrize(
    "part",
    [
        ToolReturnPart("t", LONG, "a"),
        ToolReturnPart("t", LONG, "a", outcome="failed"),
        ToolReturnPart("t", LONG, "a", outcome="denied"),
        ToolReturnPart("t", LONG, "a", outcome="interrupted"),
        ToolReturnPart("t", LONG, "a", outcome="retried", retry=RetryInfo(cause="model_retry")),
        ToolReturnPart("t", {"rows": [LONG, 1, None]}, "a"),
        ToolReturnPart("t", [LONG, PICTURE], "a"),
        ToolReturnPart("t", PICTURE, "a"),
        ToolReturnPart("t", [{"nested": [{"deeper": LONG}]}], "a"),
        ToolReturnPart("t", LONG, "a", tool_kind="mcp_server"),
        ToolReturnPart("t", LONG, "a", tool_kind="tool-search", outcome="failed"),
        ReadFileReturnPart("read_file", LONG, "a"),
        ReadFileReturnPart("read_file", ["[a.png]", PICTURE], "a"),
        RetryFeedbackPart(content=LONG, retry=RetryInfo(cause="no_output")),
        RetryFeedbackPart(
            content=[{"type": "missing", "loc": ("a",), "msg": LONG, "input": {}}],
            retry=RetryInfo(cause="validation_error"),
        ),
        legacy_retry(LONG),
    ],
    ids=lambda part: f"{type(part).__name__}-{getattr(part, 'outcome', '')}-{type(part.content).__name__}",
)
def test_every_result_and_retry_is_blanked_and_keeps_all_else(part: Any) -> None:
    result, message = blank(part)
    assert result.parts_elided == 1
    assert result.tokens_freed > 0
    (blanked,) = message.parts
    assert type(blanked) is type(part)
    assert blanked.content == ELIDED  # type: ignore[union-attr]
    for each in fields(part):
        if each.name != "content":
            assert getattr(blanked, each.name) is getattr(part, each.name)


@pytest.mark.parametrize(
    "part",
    [
        UserPromptPart(LONG),
        UserPromptPart([LONG, PICTURE]),
        SystemPromptPart(LONG),
        ToolSearchReturnPart(content={"discovered_tools": []}, tool_call_id="a"),
        ToolReturnPart("t", "ok", "a"),
        ToolReturnPart("t", "x" * len(ELIDED), "a"),
        ToolReturnPart("t", ELIDED, "a"),
        ToolReturnPart("t", None, "a"),
        ToolReturnPart("t", 42, "a"),
        ToolReturnPart("t", [], "a"),
        ToolReturnPart("t", {"ok": True}, "a"),
    ],
    ids=lambda part: f"{type(part).__name__}-{str(part.content)[:20]}",
)
def test_what_the_user_said_the_framework_reads_or_is_short_stays(part: Any) -> None:
    result, message = blank(part)
    assert result.parts_elided == 0
    assert message.parts[0] is part


def test_one_character_more_than_the_placeholder_goes() -> None:
    assert blank(ToolReturnPart("t", "x" * (len(ELIDED) + 1), "a"))[0].parts_elided == 1


def test_the_providers_own_tool_results_stay() -> None:
    native = ModelResponse(parts=[NativeToolCallPart("search", {}, "n"), NativeToolReturnPart("search", LONG, "n")])
    messages: list[ModelMessage] = [native, ModelRequest(parts=[UserPromptPart("go on")])]
    result = microcompact(messages, split_tail(messages, 0, Estimator()), Estimator())
    assert result.messages is messages


def test_what_a_tool_sent_along_as_a_users_message_stays_beside_its_blanked_result() -> None:
    picture = UserPromptPart(["this is what it looks like", PICTURE])
    result, message = blank(ToolReturnPart("t", LONG, "a"), picture)
    assert result.parts_elided == 1
    assert message.parts[1] is picture


@given(histories())
def test_a_blanked_message_is_what_replace_would_make_of_it(messages: list[ModelMessage]) -> None:
    estimator = Estimator()
    after = microcompact(messages, split_tail(messages, 0, estimator), estimator).messages
    for new, old in zip(after, messages, strict=True):
        if new is old:
            continue
        assert isinstance(old, ModelRequest)
        parts: list[ModelRequestPart] = []
        for new_part, old_part in zip(new.parts, old.parts, strict=True):
            is_same = new_part is old_part
            parts.append(old_part if is_same else replace(old_part, content=ELIDED))  # type: ignore[arg-type]
        assert new == replace(old, parts=parts)


@given(histories(), st.integers(0, 2_000))
def test_fault_41_a_pass_changes_only_messages_it_blanks(messages: list[ModelMessage], keep: int) -> None:
    estimator = Estimator()
    first = microcompact(messages, split_tail(messages, keep, estimator), estimator)
    second = microcompact(first.messages, split_tail(first.messages, keep, estimator), estimator)
    for blanked, before in zip(first.messages, messages, strict=True):
        has_placeholder = any(getattr(part, "content", None) == ELIDED for part in blanked.parts)
        assert blanked is before or has_placeholder
    for again, blanked in zip(second.messages, first.messages, strict=True):
        if any(getattr(part, "content", None) == ELIDED for part in blanked.parts):
            assert again is blanked


@given(histories())
def test_the_tokens_said_to_be_freed_are_what_the_history_lost(messages: list[ModelMessage]) -> None:
    estimator = Estimator()
    result = microcompact(messages, split_tail(messages, 0, estimator), estimator)
    lost = estimator.messages(messages) - estimator.messages(result.messages)
    # A placeholder may weigh more tokens than a longer body of blanks; names and frames are rounded.
    assert abs(result.tokens_freed - max(lost, 0)) <= 8 * result.parts_elided + 1


def test_resuming_and_blanking_again_gives_the_same_history() -> None:
    messages: list[ModelMessage] = [
        ModelResponse(parts=[ToolCallPart("t", {}, "a")]),
        ModelRequest(parts=[ToolReturnPart("t", LONG, "a"), ToolReturnPart("t", [LONG, PICTURE], "b")]),
        ModelResponse(parts=[TextPart("seen")]),
    ]
    once = microcompact(messages, split_tail(messages, 0, Estimator()), Estimator())
    stored = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))
    resumed = microcompact(stored, split_tail(stored, 0, Estimator()), Estimator())
    dumped = ModelMessagesTypeAdapter.dump_json(list(once.messages))
    assert ModelMessagesTypeAdapter.dump_json(list(resumed.messages)) == dumped
    assert ModelMessagesTypeAdapter.dump_json(ModelMessagesTypeAdapter.validate_json(dumped)) == dumped
