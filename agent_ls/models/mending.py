"""The history as every provider accepts it: what one model may write, another refuses to read.

Sessions outlive their model, models repeat call ids and invent tool names, tools return nothing. Providers answer such
a history with HTTP 400 for ever, which would brick the session. So each request carries a mended view: the history
itself stays as it was said. The view depends on the messages alone, so the provider's prompt cache stays warm.
"""

from __future__ import annotations

import hashlib
import operator
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

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
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

NO_OUTPUT: Final = "(no output)"
EMPTY_PROMPT: Final = "(empty)"

_CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NOT_ALLOWED: Final = re.compile(r"[^a-zA-Z0-9_-]")

_CallOrResult = TypeVar("_CallOrResult", ToolCallPart, ToolReturnPart[Any])
_Message = TypeVar("_Message", ModelRequest, ModelResponse)
_Part = TypeVar("_Part", ModelRequestPart, ModelResponsePart)


def mended(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages as every provider accepts them; those that already are, are the same objects. Never mutates.

    - an empty tool result says so (Anthropic and Bedrock refuse it);
    - blank text of a response is left out, a blank prompt says so;
    - call ids are unique within a response, short, of the characters all providers take; results follow by position;
    - tool names are of the characters all providers take;
    - a lone surrogate, which no request can carry, is a replacement character; signed thoughts with one are left out.
    """
    view: list[ModelMessage] = []
    # New ids of the last response's calls, by their old id, in order of the calls.
    new_ids: dict[str, deque[str]] = {}
    for message in messages:
        if isinstance(message, ModelResponse):
            new_ids = {}
            view.append(_with_parts(message, _response_parts(message.parts, new_ids)))
        else:
            view.append(_with_parts(message, [_request_part(part, new_ids) for part in message.parts]))
    return view


def _with_parts(message: _Message, parts: Sequence[Any]) -> _Message:
    same = len(parts) == len(message.parts) and all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=parts)


def _response_parts(parts: Iterable[ModelResponsePart], new_ids: dict[str, deque[str]]) -> list[ModelResponsePart]:
    kept: list[ModelResponsePart] = []
    used: set[str] = set()
    for original in parts:
        part = _encodable_part(original)
        if isinstance(part, ToolCallPart):
            call_id = _unused(_call_id(part.tool_call_id), used)
            new_ids.setdefault(part.tool_call_id, deque()).append(call_id)
            kept.append(_renamed(part, call_id))
        elif not (isinstance(part, TextPart) and _is_blank(part.content)) and not _is_spoilt_thought(part, original):
            kept.append(part)
    return kept


def _is_spoilt_thought(part: ModelResponsePart, original: ModelResponsePart) -> bool:
    return part is not original and isinstance(part, ThinkingPart) and part.signature is not None


def _request_part(part: ModelRequestPart, new_ids: dict[str, deque[str]]) -> ModelRequestPart:
    part = _encodable_part(part)
    match part:
        case UserPromptPart():
            return _prompt_that_says_something(part)
        case ToolReturnPart():
            waiting = new_ids.get(part.tool_call_id) or deque([_call_id(part.tool_call_id)])
            # The last one stays: what is answered twice is no business of this module.
            call_id = waiting.popleft() if len(waiting) > 1 else waiting[0]
            return _renamed(_result_that_says_something(part), call_id)
        case _:
            return part


def _result_that_says_something(part: ToolReturnPart[Any]) -> ToolReturnPart[Any]:
    # The framework's typed results (tool search, capability loading) carry a mapping, never text.
    if isinstance(part.content, str) and _is_blank(part.content):
        return replace(part, content=NO_OUTPUT)
    return part


def _prompt_that_says_something(part: UserPromptPart) -> UserPromptPart:
    if isinstance(part.content, str):
        return replace(part, content=EMPTY_PROMPT) if _is_blank(part.content) else part
    kept = [item for item in part.content if not (isinstance(item, str) and _is_blank(item))]
    if len(kept) == len(part.content) and kept:
        return part
    return replace(part, content=kept or EMPTY_PROMPT)


def _renamed(part: _CallOrResult, call_id: str) -> _CallOrResult:
    name = part.tool_name
    if not _TOOL_NAME.fullmatch(name):
        name = _NOT_ALLOWED.sub("_", name)[:64] or "unnamed"
    if (name, call_id) == (part.tool_name, part.tool_call_id):
        return part
    return replace(part, tool_name=name, tool_call_id=call_id)


def _call_id(call_id: str) -> str:
    if _CALL_ID.fullmatch(call_id):
        return call_id
    digest = hashlib.blake2b(call_id.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{_NOT_ALLOWED.sub('_', call_id)[:31]}_{digest}"


def _unused(call_id: str, used: set[str]) -> str:
    """The id, or one that ends in the first free number where an earlier call of the response has it."""
    candidate, number = call_id, 1
    while candidate in used:
        number += 1
        candidate = f"{call_id[:35]}-{number}"
    used.add(candidate)
    return candidate


def encodable(text: str) -> str:
    """`text` with U+FFFD for lone surrogates, which UTF-8 cannot say; the same object where there are none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text)
    return text


def _encodable_part(part: _Part) -> _Part:
    found = {name: getattr(part, name, None) for name in ("content", "args")}
    changed = {name: new for name, old in found.items() if (new := _encodable_value(old)) is not old}
    return replace(part, **changed) if changed else part


def _encodable_value(value: Any) -> Any:
    """A JSON value or a prompt's content; the same object where nothing has to be changed."""
    match value:
        case str():
            return encodable(value)
        case list():
            items = [_encodable_value(item) for item in value]
            return value if all(map(operator.is_, items, value)) else items
        case dict():
            pairs = {_encodable_value(key): _encodable_value(item) for key, item in value.items()}
            same = all(map(operator.is_, pairs, value)) and all(map(operator.is_, pairs.values(), value.values()))
            return value if same else pairs
        case _:
            return value


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


class MendingModel(WrapperModel):
    """Sends every request with its history mended; otherwise the wrapped model.

    A run's requests are mended where their messages are prepared, so that what was mended before is not mended in every
    round; a request made without a run, such as for a summary, where it is sent.
    """

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """As the wrapped model, mended."""
        return mended(self.wrapped.prepare_messages(messages, model_request_parameters))

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """As the wrapped model. Runs stream, so this is none of theirs."""
        return await self.wrapped.request(mended(messages), model_settings, model_request_parameters)
