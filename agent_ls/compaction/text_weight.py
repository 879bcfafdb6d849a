"""How many tokens a text is, by what it is made of (CASCADE §14). Nothing here knows messages.

A text is mapped to one class byte per character, and classes and pairs of neighbouring classes are counted: a word
begins where a letter follows none, camelCase and mixed runs (base64, hashes) show in their changes of class, a line
break after a word costs what one after punctuation does not. A weighted sum of these counts is the estimate.

The weights were fitted by non-negative least squares to the geometric mean of two real vocabularies, o200k and the one
Anthropic published for its older models: on the parts of the recorded sessions, on manual pages and translations in
20 languages, and on generated base64, hashes, identifiers, tables and logs; accented Latin was then set by hand, where
the fit leaned on it for longer words. They reach both within 10 % on English, source code, JSON and tool output, and
lie between the two where these differ (Vietnamese 1.8x, Greek 2.2x): a session's calibration (`estimate.Estimator`)
settles that. `benchmarks/bench_estimate.py` prints the table.
"""

from __future__ import annotations

from typing import Final

_LOWER, _UPPER, _DIGIT, _PUNCTUATION, _BLANK, _LINE_BREAK, _CONTROL = b"aA0. \n\x01"

_LEAD_BYTES: Final = (
    # (class, first lead byte, last lead byte) of UTF-8: the script a character belongs to, near enough.
    (b"l", 0xC0, 0xCB),  # Latin with accents
    (b"m", 0xCC, 0xCD),  # combining marks
    (b"g", 0xCE, 0xCF),  # Greek
    (b"c", 0xD0, 0xD3),  # Cyrillic
    (b"g", 0xD4, 0xD5),  # Armenian
    (b"r", 0xD6, 0xDF),  # Hebrew, Arabic and neighbours
    (b"i", 0xE0, 0xE0),  # the scripts of India, Thai, Lao
    (b"v", 0xE1, 0xE1),  # Vietnamese letters, Georgian, Khmer
    (b"s", 0xE2, 0xE2),  # typographic punctuation, arrows, boxes, symbols
    (b"k", 0xE3, 0xE3),  # kana
    (b"h", 0xE4, 0xE9),  # Chinese characters
    (b"w", 0xEA, 0xED),  # hangul
    (b"f", 0xEE, 0xEF),  # private use, full-width forms
    (b"e", 0xF0, 0xFF),  # emoji
)
_CONTINUATION_BYTES: Final = bytes(range(0x80, 0xC0))


def _classes() -> bytes:
    table = bytearray(256)
    for byte in range(128):
        character = chr(byte)
        if character.islower():
            table[byte] = _LOWER
        elif character.isupper():
            table[byte] = _UPPER
        elif character.isdigit():
            table[byte] = _DIGIT
        elif character == "\n":
            table[byte] = _LINE_BREAK
        elif character in " \t\r":
            table[byte] = _BLANK
        else:
            table[byte] = _PUNCTUATION if character.isprintable() else _CONTROL
    for name, first, last in _LEAD_BYTES:
        table[first : last + 1] = name * (last + 1 - first)
    return bytes(table)


def _keeping(kept: dict[int, int]) -> bytes:
    """A table that maps classes to classes and every class not in `kept` to a blank."""
    return bytes(kept.get(byte, _BLANK) for byte in range(256))


_CLASS_OF: Final = _classes()
_LETTERS: Final = _keeping({_LOWER: _LOWER, _UPPER: _LOWER} | dict.fromkeys(b"0lvm", ord("l")))
_MARKS: Final = _keeping({_PUNCTUATION: _PUNCTUATION})
_LINES: Final = _keeping(dict.fromkeys((_LOWER, _UPPER, _DIGIT), _LOWER) | {_LINE_BREAK: _LINE_BREAK})

_PER_CLASS: Final = ((b"a", 0.061), (b"A", 0.368), (b"0", 0.354), (b".", 0.208), (b"\n", 0.496))
_PER_PAIR: Final = ((b"aA", 1.115), (b"0a", 1.51), (b"0A", 1.51), (b" 0", 1.722), (b"  ", 0.04))
_PER_WORD: Final = 0.692
_PER_RUN_OF_PUNCTUATION: Final = 0.698
_PER_LINE_BREAK_AFTER_WORD: Final = 1.068
_PER_FOREIGN_CLASS: Final = (
    (b"l", 1.6),
    (b"m", 1.0),
    (b"g", 0.82),
    (b"c", 0.507),
    (b"r", 0.72),
    (b"i", 0.97),
    (b"v", 0.6),
    (b"s", 0.571),
    (b"k", 0.838),
    (b"h", 0.956),
    (b"w", 1.05),
    (b"f", 1.74),
    (b"e", 2.5),
    (b"\x01", 1.87),
)

_SAMPLED_FROM: Final = 32_768
_SAMPLE: Final = 1_024


def estimate_text(text: str) -> float:
    """Tokens of a text, uncalibrated. From 32,768 characters on evenly spread samples stand for the whole, so that
    a text of any length is weighed within a few milliseconds."""
    if not text:
        return 0.0
    if len(text) <= _SAMPLED_FROM:
        return _weigh(text)
    samples = _SAMPLED_FROM // _SAMPLE
    step = (len(text) - _SAMPLE) / (samples - 1)
    sample = "".join(text[start : start + _SAMPLE] for start in (round(index * step) for index in range(samples)))
    return _weigh(sample) * len(text) / len(sample)


def _weigh(text: str) -> float:
    is_ascii = text.isascii()
    # A blank before the first character makes a word at the start begin like any other.
    classes = b" " + text.encode("utf-8", "surrogatepass").translate(
        _CLASS_OF, b"" if is_ascii else _CONTINUATION_BYTES
    )
    count = classes.count
    tokens = (
        classes.translate(_LETTERS).count(b" a") * _PER_WORD
        + classes.translate(_MARKS).count(b" .") * _PER_RUN_OF_PUNCTUATION
        + classes.translate(_LINES).count(b"a\n") * _PER_LINE_BREAK_AFTER_WORD
    )
    for name, weight in _PER_CLASS:
        tokens += count(name) * weight
    for pair, weight in _PER_PAIR:
        tokens += count(pair) * weight
    if not is_ascii or b"\x01" in classes:
        for name, weight in _PER_FOREIGN_CLASS:
            tokens += count(name) * weight
    return tokens
