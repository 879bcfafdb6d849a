"""Tool calls and results that lost each other: a call without a result, a result without its call.

Providers refuse both. They arise from a cancel or a crash while tools run, and from a bad line in a log. pydantic-ai's
`repair_messages` is not used: it also merges messages and drops their metadata, so positions, ordinals and what a
compaction carries would be lost.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeGuard

from attrs import frozen
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)

with warnings.catch_warnings():
    # Deprecated, and still what an old history may hold.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pydantic_ai.messages import RetryPromptPart

INTERRUPTED: Final = "The tool call was interrupted before it returned a result."
"""What stands in the result that answers a call which never got one."""


@frozen
class Paired:
    """A message of a history in which every call has one result. `source` is its index before, None if made up."""

    message: ModelMessage
    source: int | None


def close_dangling_calls(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """`messages` with a result for every call (DESIGN §4); the messages that need no change are the same objects.

    A result belongs to a call by position, for ids may be used again: it stands in the requests between the call's
    response and the next response, and answers the first open call of its id. A call without one is answered by an
    "interrupted" result in a request of its own behind the results that are there. A result without a call goes,
    and so does a request that held nothing else. Same input, same output: nothing depends on the time.
    """
    return [paired.message for paired in pair_up(messages)]


def pair_up(messages: Sequence[ModelMessage]) -> list[Paired]:
    """As `close_dangling_calls`, telling where each message comes from."""
    result: list[Paired] = []
    response: ModelResponse | None = None
    open_calls: list[ToolCallPart] = []
    # Where the interrupted results of the current response go: behind the last request that carries a result.
    place = 0

    def close() -> None:
        if response is not None and open_calls:
            parts = [_interrupted(call, response) for call in open_calls]
            result.insert(place, Paired(ModelRequest(parts=parts), None))

    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            close()
            result.append(Paired(message, index))
            response, place = message, len(result)
            open_calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            continue
        kept = [part for part in message.parts if not is_tool_result(part) or _answer(part, open_calls)]
        if len(kept) == len(message.parts):
            result.append(Paired(message, index))
        elif kept:
            result.append(Paired(replace(message, parts=kept), index))
        else:
            continue
        if any(is_tool_result(part) for part in kept):
            place = len(result)
    close()
    return result


def is_tool_result(part: ModelRequestPart) -> TypeGuard[ToolReturnPart | RetryPromptPart]:
    """Whether a request's part answers a tool call; a retry that names no tool answers none."""
    return isinstance(part, ToolReturnPart) or (isinstance(part, RetryPromptPart) and part.tool_name is not None)


def _answer(result: ToolReturnPart | RetryPromptPart, open_calls: list[ToolCallPart]) -> bool:
    """Close the first open call that `result` answers; False if there is none."""
    for index, call in enumerate(open_calls):
        if call.tool_call_id == result.tool_call_id:
            del open_calls[index]
            return True
    return False


def _interrupted(call: ToolCallPart, response: ModelResponse) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=call.tool_name,
        content=INTERRUPTED,
        tool_call_id=call.tool_call_id,
        timestamp=response.timestamp,
        outcome="interrupted",
    )
