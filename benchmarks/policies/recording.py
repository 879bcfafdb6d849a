"""A recorded session made ready to be sent again under any policy, in a window of a given size.

What every agent loop does before a policy sees a message is done here, the same for all: tool outputs are bounded on
entry, each call has its result, and a reply is no longer than a small window lets one get. Two standing rules of
COMPINT (tests/data/compint) are added to each session, as recorded sessions state few: one ends the first prompt, one
is said while the agent works, a third of the way in.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.log.dangling import close_dangling_calls

_COMPINT: Final = Path(__file__).parents[2] / "tests" / "data" / "compint" / "constraints.json"
_SHARE_OF_WINDOW: Final = 0.10
_SHARE_OF_ROUND: Final = 0.40
_SHARE_OF_REPLY: Final = 0.30
_CHARACTERS_PER_TOKEN: Final = 3
_MOST_CHARACTERS: Final = 50_000
_HEAD_SHARE: Final = 0.6


@frozen
class Recording:
    """A session's messages, and the indexes of those that begin a turn."""

    name: str
    messages: Sequence[ModelMessage]
    turns: frozenset[int]

    @property
    def requests(self) -> int:
        """How many requests the session made."""
        return sum(isinstance(message, ModelResponse) for message in self.messages)

    def ends_turn(self, index: int) -> bool:
        """Whether the message at `index` is the last of its turn."""
        return index + 1 == len(self.messages) or index + 1 in self.turns


def recording_of(name: str, messages: Sequence[ModelMessage], window: int) -> Recording:
    """The session as a loop with a window of so many tokens would have recorded it."""
    closed = close_dangling_calls(messages)
    bounded = [
        _bounded(message, window) if isinstance(message, ModelRequest) else _cut(message, window) for message in closed
    ]
    planted = _with_rules(name, bounded)
    turns = frozenset(
        index
        for index, message in enumerate(planted)
        if says_something(message) and (index == 0 or _answers(planted[index - 1]))
    )
    return Recording(name, planted, turns)


def _answers(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and not message.tool_calls


def says_something(message: ModelMessage) -> bool:
    """Whether it is a prompt of the user's, and no results of tools."""
    return any(isinstance(part, UserPromptPart) for part in message.parts) and not any(
        isinstance(part, ToolReturnPart) for part in message.parts
    )


def _bounded(message: ModelRequest, window: int) -> ModelRequest:
    results = sum(isinstance(part, ToolReturnPart) for part in message.parts)
    share = min(_SHARE_OF_WINDOW, _SHARE_OF_ROUND / max(results, 1))
    limit = min(int(window * share * _CHARACTERS_PER_TOKEN), _MOST_CHARACTERS)
    parts = [
        replace(part, content=_clipped(part.model_response_str(), limit))  # type: ignore[arg-type]  # typed results too
        if isinstance(part, ToolReturnPart) and len(part.model_response_str()) > limit
        else part
        for part in message.parts
    ]
    return replace(message, parts=parts, instructions=None)


def _cut(message: ModelResponse, window: int) -> ModelResponse:
    """A reply as a provider cuts it at the window's end, shared by its parts."""
    limit = int(window * _SHARE_OF_REPLY * _CHARACTERS_PER_TOKEN) // max(len(message.parts), 1)
    return replace(message, parts=[_shorter(part, limit) for part in message.parts])


def _shorter(part: ModelResponsePart, limit: int) -> ModelResponsePart:
    match part:
        case TextPart() | ThinkingPart():
            return replace(part, content=_clipped(part.content, limit)) if len(part.content) > limit else part
        case ToolCallPart():
            arguments = part.args_as_dict()
            return replace(part, args=_shortened(arguments, limit)) if len(json.dumps(arguments)) > limit else part
        case _:
            return part


def _shortened(value: Any, limit: int) -> Any:
    match value:
        case str():
            return _clipped(value, limit) if len(value) > limit else value
        case dict():
            return {name: _shortened(inner, limit // max(len(value), 1)) for name, inner in value.items()}
        case list():
            return [_shortened(inner, limit // max(len(value), 1)) for inner in value]
        case _:
            return value


def _clipped(text: str, limit: int) -> str:
    head = int(limit * _HEAD_SHARE)
    return f"{text[:head]}\n[… {len(text) - limit} characters left out here …]\n{text[head - limit :]}"


def _with_rules(name: str, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    rules = [each["constraint"] for each in json.loads(_COMPINT.read_text())]
    first = sum(name.encode()) % len(rules)
    top, steering = (_stated(rules[(first + offset) % len(rules)]) for offset in (0, 1))
    planted = list(messages)
    start = next(index for index, each in enumerate(planted) if says_something(each))
    request = planted[start]
    assert isinstance(request, ModelRequest)
    planted[start] = replace(request, parts=[*request.parts, UserPromptPart(top)])
    answered = [
        index
        for index, message in enumerate(planted)
        if isinstance(message, ModelRequest) and any(isinstance(part, ToolReturnPart) for part in message.parts)
    ]
    if answered:
        # After a round's results, as a steered message arrives.
        planted.insert(answered[len(answered) // 3] + 1, ModelRequest(parts=[UserPromptPart(steering)]))
    return planted


def _stated(rule: str) -> str:
    return f"For the rest of this session: {rule[0].lower()}{rule[1:]}"
