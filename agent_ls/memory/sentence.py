"""From what a model answered to the one sentence that is worth a bullet, or to a reason why it is not."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from agent_ls.memory.secret_like import looks_like_secret

MAX_CHARACTERS: Final = 400
_MIN_LETTERS: Final = 8

_THINKING: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_DECORATION: Final = re.compile(r"^(?:[-*•#>\s]|\d{4}-\d{2}-\d{2}\s*:|(?:summary|sentence)\s*:)+", re.IGNORECASE)
_NOTHING: Final = re.compile(
    r"(?:nothing|none|null|n/?a|no summary)\b[\w\s]{0,20}\W*\Z|"
    r"(?:i'?m |i am )?sorry\b|i can(?:no|')t\b|as an ai\b|i don'?t have\b|i(?: am|'m) unable\b",
    re.IGNORECASE,
)
_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?", re.DOTALL)
# Control characters but newline and tab; bidirectional controls and Unicode tags, which only a model sees.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_NO_TEXT: Final = re.compile("[\ud800-\udfff]")


class NotWorthWriting(ValueError):
    """The text is blank, junk or holds what looks like a secret; the message says which."""


def one_sentence(answer: str) -> str:
    """`answer` as one line of plain text. Raises NotWorthWriting."""
    text = _DECORATION.sub("", one_line(_THINKING.sub("", answer)))
    text = text.strip("\"'`*_ ")
    if len(text) > MAX_CHARACTERS:
        text = _shortened(text)
    if not text:
        raise NotWorthWriting("the answer is blank")
    if looks_like_secret(answer):
        raise NotWorthWriting("the answer holds what looks like a key or password")
    # One ideograph says about as much as three letters.
    letters = sum(3 if unicodedata.category(character) == "Lo" else character.isalpha() for character in text)
    if letters < _MIN_LETTERS or letters < len(text) / 3 or _NOTHING.match(text):
        raise NotWorthWriting("the answer is not a sentence about the session")
    if len(set(text.casefold().split())) * 4 < len(text.split()):
        raise NotWorthWriting("the answer repeats itself")
    return text


def one_line(text: str) -> str:
    """`text` without line breaks, control characters and runs of blanks."""
    return " ".join(printable(" ".join(text.split())).split())


def printable(text: str) -> str:
    """`text` without terminal escapes, control characters (but newline and tab) and invisible ones.

    Bytes that were no UTF-8 and lone surrogates become U+FFFD.
    """
    return _NO_TEXT.sub("\ufffd", _INVISIBLE.sub("", _ESCAPE.sub("", text)))


def _shortened(text: str) -> str:
    """The first sentences that fit, else the first words with an ellipsis."""
    head = text[:MAX_CHARACTERS]
    end = max(head.rfind(mark) for mark in (". ", "! ", "? ", "。"))
    if end >= MAX_CHARACTERS // 4:
        return head[: end + 1]
    return head[: MAX_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"
