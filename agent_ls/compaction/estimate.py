"""How many tokens a message will cost before a provider has counted it (CASCADE §14).

Text is weighed by what it is made of (`text_weight`), pictures and other media by their kind. A session's own provider
then corrects the estimate: every two consecutive responses tell what the messages between them cost.
"""

from __future__ import annotations

import json
import logging
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from attrs import frozen
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CachePoint,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelResponse,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
    VideoUrl,
)

from agent_ls.compaction.text_weight import estimate_text

__all__ = ["IMAGE_TOKENS", "Estimator", "Weight", "estimate_text", "tokens_of_response"]

logger = logging.getLogger(__name__)

IMAGE_TOKENS: Final = 1_600
"""A picture, whatever its bytes: providers scale it to about this many (Anthropic and OpenAI vision guides)."""
_DOCUMENT_TOKENS: Final = 3_200
"""A document or recording of which only the address is known."""
_DOCUMENT_TOKENS_PER_KIB: Final = 25
_RECORDING_TOKENS_PER_KIB: Final = 2
_BASE64_TOKENS_PER_BYTE: Final = 0.9

_PART_TOKENS: Final = 4.0
_MESSAGE_TOKENS: Final = 3.0
_UNWEIGHABLE_TOKENS: Final = 64.0
_SHORT: Final = 64

_FIRST_FACTOR: Final = 1.1
"""Between OpenAI's models (0.95) and Anthropic's current ones (1.3), measured on recorded sessions."""
_GREATEST_RATIO: Final = 2.5
_LEAST_RATIO: Final = 0.4
"""A provider that counted less than this share of the messages did not get all of them."""
_FIRST_TRUST: Final = 2_000
_GREATEST_TRUST: Final = 8_000
"""Tokens of messages that the factor so far stands for: at first, and at most, so that it follows a changed model."""


@frozen
class Weight:
    """Uncalibrated tokens: of text, which calibration scales, and of media, which it does not."""

    text: float
    media: float = 0.0

    def __add__(self, other: Weight) -> Weight:
        return Weight(self.text + other.text, self.media + other.media)

    def times(self, factor: float) -> float:
        """Tokens, by a session's factor."""
        return self.text * factor + self.media


_NO_WEIGHT: Final = Weight(0.0)


@frozen
class _Weighed:
    whole: Weight
    parts: tuple[Weight, ...]


class Estimator:
    """One session's estimate. Never raises; each message object is weighed once in its life.

    Messages are not to be changed in place, which pydantic-ai forbids as well.
    """

    def __init__(self) -> None:
        self._factor = _FIRST_FACTOR
        self._trust = float(_FIRST_TRUST)
        self._weighed: dict[int, tuple[weakref.ref[Any], _Weighed]] = {}

    @property
    def factor(self) -> float:
        """What the session's provider counts for one uncalibrated token of text."""
        return self._factor

    def message(self, message: ModelMessage) -> int:
        """Tokens of one message."""
        return round(self._weigh(message).whole.times(self._factor))

    def messages(self, messages: Iterable[ModelMessage]) -> int:
        """Tokens of several messages."""
        factor = self._factor
        return round(sum(self._weigh(message).whole.times(factor) for message in messages))

    def parts(self, message: ModelMessage) -> Sequence[Weight]:
        """The weight of each part of a message, in their order. What frames the message is no part's."""
        return self._weigh(message).parts

    def text(self, text: str) -> int:
        """Tokens of a text, for example of instructions."""
        return round(estimate_text(text) * self._factor)

    def observe(self, span: Iterable[ModelMessage], counted: int, *, least: float = _LEAST_RATIO) -> None:
        """A provider counted `counted` tokens for these messages.

        The span from one response up to the next is what their two counts differ by, so it starts with the earlier
        response itself: its reported output may hold thinking that is never sent again. Damped: a span moves the
        factor by its share of what was seen lately. A count too low to be these messages' (below `least` of their
        weight: others were blanked between, or these never sent) teaches nothing.
        """
        weight = sum((self._weigh(message).whole for message in span), _NO_WEIGHT)
        if weight.text <= 0:
            return
        ratio = (counted - weight.media) / weight.text
        if ratio < least:
            return
        share = weight.text / (weight.text + self._trust)
        self._factor += (min(ratio, _GREATEST_RATIO) - self._factor) * share
        self._trust = min(self._trust + weight.text, _GREATEST_TRUST)

    def _weigh(self, message: ModelMessage) -> _Weighed:
        key = id(message)
        known = self._weighed.get(key)
        if known is not None and known[0]() is message:
            return known[1]
        weighed = _weigh_message(message)
        self._weighed[key] = (weakref.ref(message, _forget(self._weighed, key)), weighed)
        return weighed


def tokens_of_response(response: ModelResponse, estimator: Estimator) -> int:
    """What a response adds to the context: as counted, else estimated."""
    return response.usage.output_tokens or estimator.message(response)


def _forget(weighed: dict[int, tuple[weakref.ref[Any], _Weighed]], key: int) -> Callable[[weakref.ref[Any]], None]:
    """Bodies that leave the history leave the cache; the id may be another object's by then."""

    def forget(reference: weakref.ref[Any]) -> None:
        if (known := weighed.get(key)) is not None and known[0] is reference:
            del weighed[key]

    return forget


def _weigh_message(message: ModelMessage) -> _Weighed:
    parts = tuple(_weigh_part(part) for part in message.parts)
    return _Weighed(sum(parts, Weight(_MESSAGE_TOKENS)), parts)


def _weigh_part(part: Any) -> Weight:
    try:
        return Weight(_PART_TOKENS) + _weigh_held(part)
    except Exception:  # a tool may return any object, and reading it runs that object's code
        logger.debug("a part of kind %s cannot be weighed", type(part).__name__, exc_info=True)
        return Weight(_UNWEIGHABLE_TOKENS)


def _weigh_held(part: Any) -> Weight:
    match part:
        case TextPart() | ThinkingPart() | UserPromptPart() | FilePart():
            return _weigh_value(part.content)
        case ToolCallPart():
            return _weigh_value(part.tool_name) + _weigh_value(part.args)
        case ToolReturnPart():
            return _weigh_value(part.tool_name) + _weigh_value(part.content)
        case _:
            # Parts of the framework, of providers and of later versions: what they hold is what they cost.
            held = (getattr(part, name, None) for name in ("tool_name", "args", "content"))
            return sum(map(_weigh_value, held), _NO_WEIGHT)


def _weigh_value(value: Any) -> Weight:
    match value:
        case None | CachePoint():
            return _NO_WEIGHT
        case str():
            return _weigh_short(value) if len(value) <= _SHORT else Weight(estimate_text(value))
        case TextContent():
            return Weight(estimate_text(value.content))
        case BinaryContent():
            return _weigh_binary(value)
        case ImageUrl():
            return Weight(0.0, IMAGE_TOKENS)
        case DocumentUrl() | AudioUrl() | VideoUrl() | UploadedFile():
            return Weight(0.0, _DOCUMENT_TOKENS)
        case bytes() | bytearray() | memoryview():
            return Weight(len(value) * _BASE64_TOKENS_PER_BYTE)
        case Mapping() | list() | tuple() if _holds_media(value):
            # A picture inside a structure is sent beside it, not spelled out in it.
            items = chain.from_iterable(value.items()) if isinstance(value, Mapping) else value
            return sum(map(_weigh_value, items), Weight(float(len(value))))
        case _:
            return Weight(estimate_text(_as_text(value)))


@lru_cache(maxsize=1_024)
def _weigh_short(text: str) -> Weight:
    """Names of tools and placeholders come again and again."""
    return Weight(estimate_text(text))


def _holds_media(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_media, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_media, value))
    return isinstance(value, BinaryContent | ImageUrl | DocumentUrl | AudioUrl | VideoUrl | UploadedFile | bytes)


def _weigh_binary(content: BinaryContent) -> Weight:
    kib = len(content.data) / 1024
    if content.is_image:
        return Weight(0.0, IMAGE_TOKENS)
    if content.media_type.startswith("text/"):
        return Weight(estimate_text(content.data.decode("utf-8", "replace")))
    if content.is_audio or content.is_video:
        return Weight(0.0, kib * _RECORDING_TOKENS_PER_KIB)
    return Weight(0.0, max(IMAGE_TOKENS, kib * _DOCUMENT_TOKENS_PER_KIB))


def _as_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return repr(value)
