"""Which of the user's rules were changed by a later one (CASCADE §15: newest wins).

Both texts are kept, in order and dated; this only finds the pairs, so that the later one can be marked. A pair that is
missed loses nothing: the order and a general sentence still say which is current.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

_STATEMENT_ENDS: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_LONGEST_STATEMENT: Final = 400
_MOST_COMPARED: Final = 400
_RULE: Final = re.compile(
    r"\b(?:always|never|must|mustn't|should|shouldn't|do not|don't|only|use|prefer|instead|from now on|no longer|rule"
    r"|constraint|require\w*|avoid|keep|make sure|ensure|remember|limit|cap|budget|deadline|before you"
    r"|when you|end every|important"
    r"|sempre|nunca|siempre|immer|niemals|nicht mehr|muss|toujours|jamais|luôn|đừng|không được)\b"
    r"|必须|不要|总是|请勿|禁止|必ず|しないで|всегда|никогда|нельзя|항상|하지 마",
    re.IGNORECASE,
)
_CHANGE: Final = re.compile(
    r"\b(?:instead|actually|from now on|no longer|not any ?more|rather than|change|changed|switch|forget|new|now"
    r"|raised|lowered|moved|updated?|correction|agora|ahora|jetzt|ab sofort|désormais|maintenant)\b|改为|改成|теперь",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_SAYS_LITTLE: Final = frozenset(
    [
        "the",
        "and",
        "for",
        "you",
        "your",
        "with",
        "this",
        "that",
        "from",
        "are",
        "not",
        "was",
        "will",
        "can",
        "all",
        "any",
        "please",
        "always",
        "never",
        "must",
        "should",
        "only",
        "now",
        "but",
        "instead",
        "actually",
        "when",
        "before",
        "then",
        "them",
        "they",
        "have",
        "has",
        "our",
        "its",
        "into",
        "than",
        "use",
        "keep",
        "rule",
        "make",
        "sure",
    ]
)
_SHARED_SHARE: Final = 0.5


@frozen
class _Rule:
    message: int
    text: str
    words: frozenset[str]
    says_change: bool


def statements(text: str) -> list[str]:
    """A text's sentences and lines, without empty ones and very long ones."""
    found = (each.strip() for each in _STATEMENT_ENDS.split(text))
    return [each for each in found if each and len(each) <= _LONGEST_STATEMENT]


def rule_like(text: str) -> list[str]:
    """The statements of a text that read like a standing rule."""
    return [each for each in statements(text) if _RULE.search(each)]


def changed_rules(messages: Sequence[str]) -> Mapping[int, int]:
    """Index of a message with a rule -> index of the newest later message that changes it."""
    rules = [_rule(index, text) for index, message in enumerate(messages) for text in rule_like(message)]
    rules = rules[-_MOST_COMPARED:]
    changed: dict[int, int] = {}
    for at, later in enumerate(rules):
        for earlier in rules[:at]:
            if earlier.message < later.message and _changes(earlier, later):
                changed[earlier.message] = later.message
    return changed


def _rule(index: int, text: str) -> _Rule:
    words = frozenset(_WORD.findall(text.casefold())) - _SAYS_LITTLE
    return _Rule(index, " ".join(text.casefold().split()), words, bool(_CHANGE.search(text)))


def _changes(earlier: _Rule, later: _Rule) -> bool:
    """Whether two statements are about the same and differ."""
    if earlier.text == later.text:
        return False
    shared = len(earlier.words & later.words)
    if later.says_change and shared and len(later.words) <= 2 * shared + 2:
        return True
    return shared >= 2 and shared >= _SHARED_SHARE * min(len(earlier.words), len(later.words))
