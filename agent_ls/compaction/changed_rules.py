"""Which of the user's rules were changed by a later one (CASCADE §15: newest wins).

Both texts are kept, in order and dated; this only finds the pairs, so that the later one can be marked. A pair that is
missed loses nothing: the order and a general sentence still say which is current.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

_LINE_ENDS: Final = re.compile(r"[\n\r]+")
_SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")
_LONGEST_STATEMENT: Final = 400
_LONGEST_SCOPE: Final = 80
_MOST_COMPARED: Final = 400
_RULE: Final = re.compile(
    r"\b(?:always|never|must|mustn't|should|shouldn't|do not|don't|only|use|prefer|instead|from now on|no longer|rule"
    r"|constraint|require\w*|avoid|keep|make sure|ensure|remember|limit|cap|budget|deadline|before you"
    r"|when you|end every|important"
    r"|sempre|nunca|siempre|immer|niemals|nicht mehr|muss|toujours|jamais|luôn|đừng|không được)\b"
    r"|\b(?:every|each) (?:reply|answer|response|number|time|file|change|commit|test|function|line)s?\b"
    r"|\bfor the rest of\b|\bin (?:all )?your (?:replies|answers|code|responses)\b"
    r"|^(?:please )?(?:write|reply|answer|respond|end|begin|start|format|cite|pick|name|ask|report|skip|ignore)\b"
    r"|必须|不要|总是|请勿|禁止|必ず|しないで|всегда|никогда|нельзя|항상|하지 마",
    re.IGNORECASE,
)
_STANDING: Final = re.compile(
    r"\b(?:always|never|must|mustn't|from now on|for the rest of|make sure|remember|whenever|every time)\b"
    r"|\b(?:every|each) (?:reply|answer|response|number|change|commit)s?\b|\bin (?:all )?your (?:replies|answers)\b"
    r"|\b(?:sempre|nunca|siempre|immer|niemals|toujours|jamais|luôn)\b|必须|总是|必ず|всегда|никогда|항상",
    re.IGNORECASE,
)
"""Said to hold beyond the task at hand."""
_CHANGE: Final = re.compile(
    r"\b(?:instead|actually|from now on|no longer|not any ?more|rather than|change|changed|switch|forget|new|now"
    r"|raised|lowered|moved|updated?|correction|agora|ahora|jetzt|ab sofort|désormais|maintenant)\b|改为|改成|теперь",
    re.IGNORECASE,
)
_CHANGEABLE: Final = re.compile(f"{_RULE.pattern}|{_CHANGE.pattern}", re.IGNORECASE)
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
    is_rule: bool
    says_change: bool


def rule_like(text: str) -> list[str]:
    """The lines of a text that read like a standing rule; of a long line only the sentences, each with the one before.

    The sentence before often says how long a rule holds, or what it is about.
    """
    return _statements(text, _RULE)


def standing_rules(text: str) -> list[str]:
    """Of these, the ones that say they hold from now on."""
    return _statements(text, _STANDING)


def _statements(text: str, like: re.Pattern[str]) -> list[str]:
    found: list[str] = []
    for line in filter(None, map(str.strip, _LINE_ENDS.split(text))):
        if len(line) <= _LONGEST_STATEMENT:
            found += [line] if like.search(line) else []
            continue
        before, before_is_like = "", False
        for sentence in _SENTENCE_ENDS.split(line):
            is_like = len(sentence) <= _LONGEST_STATEMENT and like.search(sentence) is not None
            if is_like and before_is_like:
                found[-1] += f" {sentence}"
            elif is_like:
                found.append(f"{before} {sentence}".lstrip() if len(before) <= _LONGEST_SCOPE else sentence)
            before, before_is_like = sentence, is_like
    return found


def changed_rules(messages: Sequence[str]) -> Mapping[int, int]:
    """Index of a message with a rule -> index of the newest later message that changes it."""
    rules = [_rule(index, text) for index, message in enumerate(messages) for text in _statements(message, _CHANGEABLE)]
    rules = rules[-_MOST_COMPARED:]
    changed: dict[int, int] = {}
    for at, later in enumerate(rules):
        for earlier in rules[:at]:
            if earlier.is_rule and earlier.message < later.message and _changes(earlier, later):
                changed[earlier.message] = later.message
    return changed


def _rule(index: int, text: str) -> _Rule:
    words = frozenset(_WORD.findall(text.casefold())) - _SAYS_LITTLE
    plain = " ".join(text.casefold().split())
    return _Rule(index, plain, words, is_rule=bool(_RULE.search(text)), says_change=bool(_CHANGE.search(text)))


def _changes(earlier: _Rule, later: _Rule) -> bool:
    """Whether two statements are about the same and differ."""
    if earlier.text == later.text:
        return False
    shared = len(earlier.words & later.words)
    if later.says_change and shared and len(later.words) <= 2 * shared + 2:
        return True
    return shared >= 2 and shared >= _SHARED_SHARE * min(len(earlier.words), len(later.words))
