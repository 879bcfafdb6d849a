"""Messages as a provider receives and counts them: OpenAI's chat messages, o200k tokens, the strict simulator's rules.

Every list of parts is mapped, counted and looked through once, whichever policy sends it and however often.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from attrs import define, field, frozen
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.simulator.openai_chat import ENCODING
from tests.simulator.openai_checks import check_body
from tests.simulator.refusal import RequestRefused
from tests.simulator.tokens import compact_json, count_text

FRAME_TOKENS: Final = 4
"""Around every message and every call."""
IMAGE_TOKENS: Final = 765
_LONGEST_CALL_ID: Final = 40


@frozen
class ChatMessage:
    """One message of a request: its JSON, its tokens, and a digest by which a prompt cache knows it."""

    body: dict[str, Any]
    tokens: int
    digest: bytes


@frozen
class Mapped:
    """What a request or a response of a history is sent as, and all text in it."""

    chat: tuple[ChatMessage, ...]
    text: str
    results: tuple[str, ...]


@define
class Wire:
    """Maps messages, each list of parts once."""

    _known: dict[int, tuple[object, Mapped]] = field(init=False, factory=dict)

    def mapped(self, message: ModelMessage) -> Mapped:
        """The message as it is sent. Copies with other usage share their parts, and so what is known of them."""
        key = id(message.parts)
        known = self._known.get(key)
        if known is None:
            # The parts are kept with it, so that no other list can get their id.
            known = self._known[key] = (message.parts, _map(message))
        return known[1]

    def tokens(self, message: ModelMessage) -> int:
        """Tokens of the message as it is sent."""
        return sum(each.tokens for each in self.mapped(message).chat)


def refusal_of(chat: Sequence[ChatMessage]) -> str | None:
    """Why a strict provider would refuse these messages whatever their size; None if it would not."""
    try:
        check_body({"model": "strict", "messages": [each.body for each in chat]})
    except RequestRefused as refused:
        return refused.refusal.message
    return None


def _map(message: ModelMessage) -> Mapped:
    bodies = list(_of_request(message) if isinstance(message, ModelRequest) else _of_response(message))
    chat = tuple(ChatMessage(body, _tokens(body), hashlib.blake2b(_bytes(body)).digest()) for body in bodies)
    results = tuple(body["content"] for body in bodies if body["role"] == "tool")
    return Mapped(chat, "\n".join(text for body in bodies for text in _texts(body)), results)


def _of_request(message: ModelRequest) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        match part:
            case SystemPromptPart():
                yield {"role": "system", "content": part.content}
            case UserPromptPart():
                yield {"role": "user", "content": _content(part.content)}
            case CompactionPart():
                # As pydantic-ai sends a summary to a provider that knows no such part: as the user's text.
                yield {"role": "user", "content": part.content or "(compacted)"}
            case ToolReturnPart():
                yield {"role": "tool", "tool_call_id": _call_id(part), "content": part.model_response_str()}
            case RetryFeedbackPart():
                yield {"role": "user", "content": part.model_response()}
            case _:
                raise TypeError(f"a recorded session holds no {type(part).__name__}")


def _of_response(message: ModelResponse) -> Iterator[dict[str, Any]]:
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    thinking = "".join(part.content for part in message.parts if isinstance(part, ThinkingPart))
    calls = [
        {
            "id": _call_id(part),
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    if not text.strip() and not calls:
        # An answer of thinking alone, or one that was stopped: providers take no empty message.
        text = "(no text was recorded)"
    body: dict[str, Any] = {"role": "assistant", "content": text or None}
    if thinking:
        body["reasoning_content"] = thinking
    if calls:
        body["tool_calls"] = calls
    yield body


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [_item(item) for item in content]


def _item(item: Any) -> dict[str, Any]:
    match item:
        case str():
            return {"type": "text", "text": item}
        case TextContent():
            return {"type": "text", "text": item.content}
        case _:
            return {"type": "image_url", "image_url": {"url": f"image:{id(item)}"}}


def _call_id(part: ToolCallPart | ToolReturnPart) -> str:
    return part.tool_call_id[-_LONGEST_CALL_ID:]


def _tokens(body: dict[str, Any]) -> int:
    frames = FRAME_TOKENS * (1 + len(body.get("tool_calls") or ()))
    images = IMAGE_TOKENS * sum(isinstance(item, dict) and "image_url" in item for item in body.get("content") or ())
    return frames + images + sum(count_text(text, ENCODING) for text in _texts(body))


def _texts(body: dict[str, Any]) -> Iterator[str]:
    content = body["content"]
    if isinstance(content, str):
        yield content
    elif content is not None:
        yield from (item["text"] for item in content if "text" in item)
    yield from (body[name] for name in ("reasoning_content",) if name in body)
    for call in body.get("tool_calls") or ():
        yield f"{call['function']['name']} {call['function']['arguments']}"


def _bytes(body: dict[str, Any]) -> bytes:
    return compact_json(body).encode("utf-8", "replace")
