"""What a client sees of a conversation: pydantic-ai's events and messages as ACP session updates."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pydantic_ai.messages import (
    AgentStreamEvent,
    BinaryContent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from agent_ls.protocol import (
    AgentMessageChunk,
    AgentThoughtChunk,
    ImageContent,
    SessionUpdate,
    TextContent,
    ToolCall,
    ToolCallId,
    ToolCallText,
    ToolCallUpdate,
    UserMessageChunk,
)
from agent_ls.tools.presentation import SHOWN_AS_DIFF, describe_call


class ToolCallIds:
    """Ids of tool calls, unique in a session: some providers and local models use the same id again and again."""

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}

    def begin(self, provider_id: str) -> ToolCallId:
        """A new call with the provider's id starts."""
        self._uses[provider_id] = self._uses.get(provider_id, 0) + 1
        return self.current(provider_id)

    def current(self, provider_id: str) -> ToolCallId:
        """The session's id of the newest call that has the provider's id."""
        uses = self._uses.get(provider_id, 1)
        return ToolCallId(provider_id if uses == 1 else f"{provider_id}~{uses}")


def updates_of_event(event: AgentStreamEvent, ids: ToolCallIds) -> Iterator[SessionUpdate]:
    """What one streamed event shows; nothing for events a person has no use for."""
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            yield AgentMessageChunk(TextContent(text))
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            yield AgentThoughtChunk(TextContent(text))
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            yield AgentMessageChunk(TextContent(text))
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
            yield AgentThoughtChunk(TextContent(text))
        case FunctionToolCallEvent(part=call):
            yield _call_started(call, ids)
        case FunctionToolResultEvent(part=result):
            yield _call_ended(result, ids)
        case _:
            return


def updates_of_history(
    messages: Iterable[ModelMessage], is_summary: Callable[[ModelMessage], bool]
) -> list[SessionUpdate]:
    """A conversation as a client shows it after a resume; summary messages are the cascade's, not the user's."""
    ids = ToolCallIds()
    return [update for message in messages if not is_summary(message) for update in _updates_of_message(message, ids)]


def _updates_of_message(message: ModelMessage, ids: ToolCallIds) -> Iterator[SessionUpdate]:
    for part in message.parts:
        match part:
            case UserPromptPart(content=content):
                yield from user_updates(content)
            case TextPart(content=text) if text:
                yield AgentMessageChunk(TextContent(text))
            case ThinkingPart(content=text) if text:
                yield AgentThoughtChunk(TextContent(text))
            case ToolCallPart():
                yield _call_started(part, ids)
            case ToolReturnPart() if isinstance(message, ModelRequest):
                yield _call_ended(part, ids)
            case _:
                continue


def user_updates(content: str | Sequence[UserContent]) -> Iterator[UserMessageChunk]:
    """What the user sent, block by block. Content that is neither text nor a picture is named by its type."""
    for item in [content] if isinstance(content, str) else content:
        match item:
            case str():
                yield UserMessageChunk(TextContent(item))
            case BinaryContent(data=data, media_type=media_type) if item.is_image:
                yield UserMessageChunk(ImageContent(base64.b64encode(data).decode("ascii"), media_type))
            case _:
                yield UserMessageChunk(TextContent(f"[{type(item).__name__}]"))


def _call_started(call: ToolCallPart, ids: ToolCallIds) -> ToolCall:
    arguments = arguments_of(call)
    title, kind, locations = describe_call(call.tool_name, arguments)
    return ToolCall(
        tool_call_id=ids.begin(call.tool_call_id),
        title=title,
        kind=kind,
        status="in_progress",
        raw_input=arguments,
        locations=locations,
    )


def _call_ended(result: ToolReturnPart, ids: ToolCallIds) -> ToolCallUpdate:
    succeeded = result.outcome == "success"
    # The diff of a change is announced by the tool; text here would take its place on the screen.
    shows_diff = succeeded and result.tool_name in SHOWN_AS_DIFF
    return ToolCallUpdate(
        tool_call_id=ids.current(result.tool_call_id),
        status="completed" if succeeded else "failed",
        content=None if shows_diff else [ToolCallText(TextContent(result.model_response_str(wrap_if_error=False)))],
    )


def arguments_of(call: ToolCallPart) -> Any:
    """A call's arguments as JSON values; text that is not JSON stays text (models write it, clients show it)."""
    if not isinstance(call.args, str):
        return call.args or {}
    try:
        return json.loads(call.args or "{}")
    except ValueError:
        return call.args
