"""`recall`: exact text of what was said, from the session's log, also what has left the window (CASCADE §13)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.toolsets import FunctionToolset

from agent_ls.tools.environment import ToolEnvironment
from agent_ls.tools.overflow import Bounds

_MESSAGE_ID: Final = re.compile(r"message-(\d+)")
_MOST_MATCHES: Final = 10
_CONTEXT_CHARACTERS: Final = 160

INSTRUCTION: Final = (
    "Parts of this conversation were taken out of your window to make room. They are not lost: "
    "`recall(query=…)` finds them, `recall(id=…)` returns their exact text."
)


def recall_toolset(environment: ToolEnvironment) -> FunctionToolset[Any]:
    """The toolset with `recall`."""

    def recall(query: str | None = None, id: str | None = None, offset: int = 0) -> str:  # noqa: A002  # CASCADE §13
        """Get the exact text of anything said or returned earlier in this session, also what was removed or cut.

        Args:
            query: Words to look for; returns the ids of the places that hold all of them, newest first.
            id: An id from an earlier recall or from a note about text that was cut; returns the text itself.
            offset: With `id`, the character to start from.
        """
        if id is not None:
            text = environment.overflow.read(id) if id.startswith("output-") else _text_with_id(environment, id)
            if text is None:
                raise ModelRetry(f"There is nothing with the id {id!r}. Use recall(query=…) to find ids.")
            return _page(id, text, max(offset, 0), Bounds.of_window(environment.window()))
        if query is not None and query.strip():
            return _matches(environment, query)
        raise ModelRetry("Give either query or id.")

    return FunctionToolset([recall], id="agent_ls_recall")


def _page(identifier: str, text: str, offset: int, bounds: Bounds) -> str:
    if offset and offset >= len(text):
        raise ModelRetry(f"{identifier} has {len(text)} characters; {offset} is past its end.")
    # The frame around the text has to fit as well, or the page would be cut again.
    end = min(len(text), offset + bounds.characters - 200)
    more = f"; go on with recall(id={identifier!r}, offset={end})" if end < len(text) else ""
    return f"[{identifier}: characters {offset} to {end} of {len(text)}{more}]\n{text[offset:end]}"


def _text_with_id(environment: ToolEnvironment, identifier: str) -> str | None:
    match = _MESSAGE_ID.fullmatch(identifier)
    if match is None:
        return None
    wanted = int(match.group(1))
    for original in environment.recall.originals():
        if original.ordinal == wanted:
            return "\n\n".join(text for _, text in _texts(original.message))
    return None


def _matches(environment: ToolEnvironment, query: str) -> str:
    words = query.casefold().split()
    found: list[str] = []
    for original in environment.recall.originals():
        for label, text in _texts(original.message):
            folded = text.casefold()
            if all(word in folded for word in words):
                at = folded.find(words[0])
                start = max(0, at - _CONTEXT_CHARACTERS // 2)
                excerpt = " ".join(text[start : start + _CONTEXT_CHARACTERS].split())
                found.append(f"message-{original.ordinal} ({label}, {len(text)} characters): …{excerpt}…")
    if not found:
        return "Nothing said in this session has all of these words. Try fewer or other words."
    newest = found[::-1][:_MOST_MATCHES]
    left = len(found) - len(newest)
    return "\n".join([*newest, *([f"[{left} older matches not shown: use more words]"] if left else [])])


def _texts(message: ModelMessage) -> Iterator[tuple[str, str]]:
    """The texts of a message with who or what they are from."""
    for part in message.parts:
        match part:
            case UserPromptPart(content=str() as text):
                yield "user", text
            case UserPromptPart(content=items):
                yield "user", "\n".join(item for item in items if isinstance(item, str))
            case TextPart(content=text):
                yield "assistant", text
            case ThinkingPart():
                continue
            case ToolCallPart():
                yield f"call of {part.tool_name}", part.args_as_json_str()
            case ToolReturnPart() if not isinstance(message, ModelResponse):
                yield f"result of {part.tool_name}", part.model_response_str()
            case _:
                continue
