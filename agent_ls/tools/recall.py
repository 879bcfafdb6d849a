"""`recall`: exact text of what was said, from the session's log, also what has left the window (CASCADE §13)."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any, Final

from attrs import frozen
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.toolsets import FunctionToolset

from agent_ls.tools.environment import RecallSource, ToolEnvironment
from agent_ls.tools.output import Bounds

TOOL_NAME: Final = "recall"

_USER: Final = "user"
_MOST_MATCHES: Final = 10
_EXCERPT_CHARACTERS: Final = 160
_FRAME_CHARACTERS: Final = 200
_SHORTEST_PAGE: Final = 100
"""Characters, so that a text comes to its end however full the window is."""
_LONGEST_STRETCH_SECONDS: Final = 0.01

INSTRUCTION: Final = (
    "Parts of this conversation were taken out of your window to make room. They are not lost: "
    "`recall(query=…)` finds them, `recall(id=…)` returns their exact text."
)


def recall_toolset(environment: ToolEnvironment) -> FunctionToolset[Any]:
    """The toolset with `recall`."""

    async def recall(query: str | None = None, id: str | None = None, offset: int = 0) -> str:  # noqa: A002  # CASCADE §13
        """Get the exact text of anything said or returned earlier in this session, also what was removed or cut.

        Args:
            query: Words to look for; returns the ids of the places that hold all of them: the
                user's words first, then all else, newest first.
            id: An id from an earlier recall or from a note about text that was cut; returns the text itself.
            offset: With `id`, the character to start from.
        """
        if id is not None:
            text = environment.long_outputs.read(id) or await text_with_id(environment.recall, id)
            if text is None:
                raise ModelRetry(f"There is nothing with the id {id!r}. Use recall(query=…) to find ids.")
            return _page(id, text, max(offset, 0), environment.result_room.bounds())
        if query is not None and query.strip():
            return await matches(environment.recall, query)
        raise ModelRetry("Give either query or id.")

    return FunctionToolset([recall], id="agent_ls_recall")


@frozen
class _Saying:
    """One text that was said or returned. `id` stays the same for as long as the session exists."""

    id: str
    source: str
    text: str


async def _sayings(source: RecallSource) -> AsyncIterator[_Saying]:
    """Everything said, in order; gives way to other work, as a log can be long."""
    began = time.monotonic()
    for original in source.originals():
        for index, (label, text) in enumerate(_texts(original.message)):
            yield _Saying(f"message-{original.ordinal}.{index}", label, text)
        if time.monotonic() - began > _LONGEST_STRETCH_SECONDS:
            await asyncio.sleep(0)
            began = time.monotonic()


def _page(identifier: str, text: str, offset: int, bounds: Bounds) -> str:
    if offset and offset >= len(text):
        raise ModelRetry(f"{identifier} has {len(text)} characters; {offset} is past its end.")
    # The frame around the text has to fit as well, or the page would be cut again.
    room = max(bounds.characters_for(text[offset:]) - _FRAME_CHARACTERS, _SHORTEST_PAGE)
    end = min(len(text), offset + room)
    more = f"; go on with recall(id={identifier!r}, offset={end})" if end < len(text) else ""
    return f"[{identifier}: characters {offset} to {end} of {len(text)}{more}]\n{text[offset:end]}"


async def text_with_id(source: RecallSource, identifier: str) -> str | None:
    """The exact text of that id."""
    async for saying in _sayings(source):
        if saying.id == identifier:
            return saying.text
    return None


async def matches(source: RecallSource, query: str) -> str:
    """The places that hold all words of a query, one a line, each beginning with its id."""
    words = query.casefold().split()
    # What the user said comes first: it is little, and all else is made of it.
    by_user, others = deque[str](maxlen=_MOST_MATCHES), deque[str](maxlen=_MOST_MATCHES)
    count = 0
    async for saying in _sayings(source):
        folded = saying.text.casefold()
        if all(word in folded for word in words):
            count += 1
            start = max(0, folded.find(words[0]) - _EXCERPT_CHARACTERS // 2)
            excerpt = " ".join(saying.text[start : start + _EXCERPT_CHARACTERS].split())
            into = by_user if saying.source == _USER else others
            into.appendleft(f"{saying.id} ({saying.source}, {len(saying.text)} characters): …{excerpt}…")
    if not count:
        return "Nothing said in this session has all of these words. Try fewer or other words."
    room_for_user = _MOST_MATCHES - min(len(others), _MOST_MATCHES // 2)
    found = [*islice(by_user, room_for_user), *others][:_MOST_MATCHES]
    left = count - len(found)
    return "\n".join([*found, *([f"[{left} more not shown: use more words]"] if left else [])])


def _texts(message: ModelMessage) -> Iterator[tuple[str, str]]:
    """The texts of a message with who or what they are from; what recall itself said is not said again."""
    for part in message.parts:
        match part:
            case UserPromptPart(content=str() as text):
                yield _USER, text
            case UserPromptPart(content=items):
                yield _USER, "\n".join(item for item in items if isinstance(item, str))
            case TextPart(content=text):
                yield "assistant", text
            case ToolCallPart() if part.tool_name != TOOL_NAME:
                yield f"call of {part.tool_name}", part.args_as_json_str()
            case ToolReturnPart() if part.tool_name != TOOL_NAME and isinstance(message, ModelRequest):
                yield f"result of {part.tool_name}", part.model_response_str()
            case _:
                continue
