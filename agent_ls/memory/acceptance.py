"""Whether a model's compression of the memory may replace it: checked, never believed.

What a person wrote is not at stake: a model only ever gets to replace the dated bullets. Those are compared by their
content words, which works for any language without knowing it: ideographs count in pairs, other scripts by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from agent_ls.memory.clip import Caps
from agent_ls.memory.memory_file import Bullet, MemoryFile
from agent_ls.memory.secret_like import looks_like_secret
from agent_ls.memory.sentence import printable

MIN_KEPT_FACTS: Final = 0.5
"""The share of distinct facts that must survive: no loss of more than half."""
_FACT_IS_KEPT: Final = 0.6
"""A fact survives if one line holds this share of its content words."""
_MAX_NEW_WORDS: Final = 1 / 3
"""A line may use this share of words that stand in no entry: merging needs a few ("both", "now")."""
_MIN_OF_ITS_DATE: Final = 0.3
"""A line must share this much with an entry of its own date."""
_MAX_LINE_CHARACTERS: Final = 1_000

_WORD: Final = re.compile(r"\w+")
_IDEOGRAPHS: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SMALL_WORDS: Final = frozenset(
    [
        "the",
        "and",
        "was",
        "were",
        "for",
        "with",
        "that",
        "this",
        "has",
        "had",
        "have",
        "are",
        "its",
        "from",
        "into",
        "not",
    ]
)


class NotAccepted(ValueError):
    """The compression must not replace the entries; the message says why."""


def accepted_bullets(answer: str, file: MemoryFile, caps: Caps) -> Sequence[str]:
    """The bullets of `answer`, if they may replace those of `file`. Raises NotAccepted.

    Only plain dated bullets, fewer than before, both caps held together with a person's lines, no date and no number
    that no entry has, nothing mostly made up, at least half of the distinct facts kept, no secret.
    """
    entries = [bullet for line in file.bullets if (bullet := Bullet.parse(line))]
    bullets = _bullets_of(answer, frozenset(file.written_by_person))
    lines = [str(bullet) for bullet in bullets]
    if len(lines) >= len(entries):
        raise NotAccepted(f"nothing was merged: {len(lines)} entries for {len(entries)}")
    if not caps.hold(file.with_bullets(lines).lines):
        raise NotAccepted("the result is over the caps")
    known = frozenset(line for line in file.lines)
    if any(line not in known and looks_like_secret(line) for line in lines):
        raise NotAccepted("an entry holds what looks like a key or password")
    for bullet in bullets:
        _must_be_made_of(bullet, entries)
    _must_keep_facts(bullets, entries)
    return lines


def _bullets_of(answer: str, by_person: frozenset[str]) -> Sequence[Bullet]:
    bullets: dict[str, Bullet] = {}
    for line in answer.strip().split("\n"):
        line = line.rstrip()
        # A person's lines stay whatever happens, so a model may repeat them.
        if not line or line in by_person:
            continue
        bullet = Bullet.parse(line)
        if bullet is None or printable(line) != line or len(line) > _MAX_LINE_CHARACTERS:
            raise NotAccepted(f"not a plain dated bullet: {line[:80]!r}")
        bullets.setdefault(str(bullet), bullet)
    if not bullets:
        raise NotAccepted("the answer is blank")
    return list(bullets.values())


def _must_be_made_of(bullet: Bullet, entries: Sequence[Bullet]) -> None:
    of_its_date = [entry for entry in entries if entry.date == bullet.date]
    if not of_its_date:
        raise NotAccepted(f"an invented date: {bullet.date.isoformat()}")
    if any(entry.text == bullet.text for entry in of_its_date):
        return
    words = content_words(bullet.text)
    known = frozenset[str]().union(*(content_words(entry.text) for entry in entries))
    new = words - known
    if any(character.isdigit() for word in new for character in word) or len(new) > _MAX_NEW_WORDS * len(words):
        raise NotAccepted(f"an entry that is mostly made up: {bullet.text[:80]!r}")
    if not any(_share_in(content_words(entry.text), words) >= _MIN_OF_ITS_DATE for entry in of_its_date):
        raise NotAccepted(f"an entry under a date that is not its own: {bullet.text[:80]!r}")


def _must_keep_facts(bullets: Sequence[Bullet], entries: Sequence[Bullet]) -> None:
    facts = {content_words(entry.text) for entry in entries}
    results = [content_words(bullet.text) for bullet in bullets]
    kept = sum(any(_share_in(fact, result) >= _FACT_IS_KEPT for result in results) for fact in facts)
    if kept < MIN_KEPT_FACTS * len(facts):
        raise NotAccepted(f"only {kept} of {len(facts)} distinct facts were kept")


def content_words(text: str) -> frozenset[str]:
    """The words that carry a text's meaning, without case: all but the shortest and a few English fillers."""
    return frozenset(_content_words(text))


def _content_words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text.casefold()):
        word = match[0]
        for run in _IDEOGRAPHS.findall(word):
            yield from (run[index : index + 2] for index in range(max(1, len(run) - 1)))
        rest = _IDEOGRAPHS.sub("", word)
        if (len(rest) > 2 and rest not in _SMALL_WORDS) or any(map(str.isdigit, rest)):
            yield rest


def _share_in(fact: frozenset[str], words: frozenset[str]) -> float:
    """How much of a fact's words stand in `words`; a fact without content words is nothing to lose."""
    return len(fact & words) / len(fact) if fact else 1.0
