"""How many tokens a message will cost before a provider has counted it (CASCADE §14).

Text is weighed by what it is made of, not by its length: words, digits, punctuation, scripts, unbroken runs such as
base64. The weights were fitted to the o200k vocabulary on real coding sessions (benchmarks/bench_estimate.py). A
session's own provider then corrects them: every two consecutive responses tell what the messages between them cost.
"""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)

IMAGE_TOKENS: Final = 1_600
"""A picture, whatever its bytes: providers scale it to about this many (Anthropic and OpenAI vision guides)."""
DOCUMENT_TOKENS_PER_KIB: Final = 25
_PART_TOKENS: Final = 4
_MESSAGE_TOKENS: Final = 3

_WORD: Final = re.compile(r"[A-Za-z]+")
_RUN: Final = re.compile(r"[A-Za-z0-9+/_=-]{48,}")
_DIGIT: Final = re.compile(r"[0-9]")
_PUNCTUATION: Final = re.compile(r"[^\sA-Za-z0-9\u0080-\U0010ffff]")
_GAP: Final = re.compile(r"\n[ \t]*|[ \t]{2,}")
_WIDE: Final = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
_OTHER: Final = re.compile(r"[\u0080-\u2e7f\ua000-\uabff\ufb00-\ufeff\U00010000-\U0001ffff\ud800-\udfff]")

_PER_WORD: Final = 0.78
_PER_LETTER: Final = 0.07
_PER_DIGIT: Final = 0.42
_PER_PUNCTUATION: Final = 0.52
_PER_GAP: Final = 0.35
_PER_WIDE: Final = 0.62
_PER_OTHER: Final = 0.42
_PER_RUN_CHARACTER: Final = 0.68

_LEAST_FACTOR: Final = 0.6
_GREATEST_FACTOR: Final = 2.5
_DAMPING_TOKENS: Final = 1_500


def estimate_text(text: str) -> float:
    """Tokens of a text, uncalibrated."""
    if not text:
        return 0.0
    runs = 0
    if len(text) >= 48:
        text, runs = _without_runs(text)
    words = _WORD.findall(text)
    tokens = (
        len(words) * _PER_WORD
        + sum(map(len, words)) * _PER_LETTER
        + len(_DIGIT.findall(text)) * _PER_DIGIT
        + len(_PUNCTUATION.findall(text)) * _PER_PUNCTUATION
        + len(_GAP.findall(text)) * _PER_GAP
        + runs * _PER_RUN_CHARACTER
    )
    if not text.isascii():
        tokens += len(_WIDE.findall(text)) * _PER_WIDE + len(_OTHER.findall(text)) * _PER_OTHER
    return tokens


def _without_runs(text: str) -> tuple[str, int]:
    """The text without unbroken runs that mix letters with digits (base64, hashes), and their characters."""
    taken = 0

    def take(run: re.Match[str]) -> str:
        nonlocal taken
        found = run[0]
        if not any(character.isdigit() for character in found) or found.count("_") + found.count("-") > len(found) // 8:
            return found
        taken += len(found)
        return ""

    rest = _RUN.sub(take, text)
    return (rest, taken) if taken else (text, 0)


def _estimate_message(message: ModelMessage) -> float:
    tokens = float(_MESSAGE_TOKENS)
    for part in message.parts:
        tokens += _PART_TOKENS + _estimate_part(part)
    return tokens


def _estimate_part(part: Any) -> float:
    match part:
        case TextPart(content=str(text)) | ThinkingPart(content=str(text)):
            return estimate_text(text)
        case ToolCallPart():
            return estimate_text(part.tool_name) + _estimate_value(part.args)
        case ToolReturnPart():
            return estimate_text(part.tool_name) + _estimate_value(part.content)
        case FilePart(content=content):
            return _estimate_value(content)
        case _:
            # Parts of the framework, of providers and of later versions: what they hold is what they cost.
            held = [getattr(part, name, None) for name in ("content", "args", "tool_name")]
            return sum(_estimate_value(value) for value in held if value is not None)


def _estimate_value(value: Any) -> float:
    match value:
        case None:
            return 0.0
        case str():
            return estimate_text(value)
        case BinaryContent():
            return _estimate_binary(value)
        case ImageUrl():
            return IMAGE_TOKENS
        case DocumentUrl():
            return IMAGE_TOKENS * 2
        case bytes():
            return len(value) * _PER_RUN_CHARACTER * 4 / 3
        case list() | tuple():
            return sum(_estimate_value(item) for item in value) + len(value)
        case _:
            return estimate_text(_as_text(value))


def _estimate_binary(content: BinaryContent) -> float:
    if content.is_image:
        return IMAGE_TOKENS
    return max(IMAGE_TOKENS, len(content.data) / 1024 * DOCUMENT_TOKENS_PER_KIB)


def _as_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


class Estimator:
    """One session's estimate. Never raises; each message object is weighed once in its life."""

    def __init__(self) -> None:
        self._factor = 1.0
        self._weighed: dict[int, tuple[weakref.ref[Any], float]] = {}

    @property
    def factor(self) -> float:
        """What the session's provider counts for one uncalibrated token."""
        return self._factor

    def message(self, message: ModelMessage) -> int:
        """Tokens of one message."""
        return round(self._raw(message) * self._factor)

    def messages(self, messages: Iterable[ModelMessage]) -> int:
        """Tokens of several messages."""
        return round(sum(self._raw(message) for message in messages) * self._factor)

    def text(self, text: str) -> int:
        """Tokens of a text, for example of instructions."""
        return round(estimate_text(text) * self._factor)

    def observe(self, between: Sequence[ModelMessage], counted: int) -> None:
        """A provider counted `counted` tokens for these messages, which came between two of its responses.

        Damped by how much that is, so that one odd message cannot turn the session's estimate around.
        """
        raw = sum(self._raw(message) for message in between)
        if raw <= 0 or counted <= 0:
            return
        ratio = min(max(counted / raw, _LEAST_FACTOR), _GREATEST_FACTOR)
        weight = 0.6 * raw / (raw + _DAMPING_TOKENS)
        self._factor += (ratio - self._factor) * weight

    def _raw(self, message: ModelMessage) -> float:
        key = id(message)
        known = self._weighed.get(key)
        if known is not None and known[0]() is message:
            return known[1]
        tokens = _estimate_message(message)
        self._weighed[key] = (weakref.ref(message, _forget(self._weighed, key)), tokens)
        return tokens


def _forget(weighed: dict[int, tuple[weakref.ref[Any], float]], key: int) -> Callable[[weakref.ref[Any]], None]:
    """Bodies that leave the history leave the cache; the id may be another object's by then."""

    def forget(reference: weakref.ref[Any]) -> None:
        if (known := weighed.get(key)) is not None and known[0] is reference:
            del weighed[key]

    return forget


def tokens_of_response(response: ModelResponse, estimator: Estimator) -> int:
    """What a response adds to the context: as counted, else estimated."""
    return response.usage.output_tokens or estimator.message(response)
