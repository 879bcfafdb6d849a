"""What a session is called in a list: the first line of its first prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic_ai.messages import ModelMessage, TextContent, UserPromptPart

_MAX_LENGTH: Final = 120


def title_of(messages: Sequence[ModelMessage]) -> str | None:
    """The first line of the first user prompt with text in it, at most 120 characters; None if there is none."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                text = _text(part).strip()
                if text:
                    return text.splitlines()[0][:_MAX_LENGTH]
    return None


def _text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    texts = (each.content if isinstance(each, TextContent) else each for each in part.content)
    return "\n".join(text for text in texts if isinstance(text, str))
