"""Text that looks like a key or password: it is never written into a memory file."""

from __future__ import annotations

import re
from typing import Final

_KNOWN_FORMS: Final = re.compile(
    r"""
      \b(?:sk|pk|rk)[-_](?:[A-Za-z]+[-_])*[A-Za-z0-9_-]{16,}       # OpenAI, Anthropic, Stripe
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bglpat-[A-Za-z0-9_-]{16,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{12,}                                  # AWS
    | \bAIza[A-Za-z0-9_-]{20,} | \bya29\.[A-Za-z0-9_-]{20,}         # Google
    | \bxox[a-z]-[A-Za-z0-9-]{10,}                                  # Slack
    | \b(?:hf|npm|pypi|dop_v1|shpat|SG)[_.-][A-Za-z0-9_.-]{20,}
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}                   # JSON web token
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY
    | \b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]+:[^\s/@]{3,}@                  # a password inside a URL
    | \b(?:[Bb]earer|[Bb]asic)\s+[A-Za-z0-9+/_.=-]{16,}
    """,
    re.VERBOSE,
)
_NAMED: Final = re.compile(
    r"(?:pass(?:word|wd|phrase)?|secret|token|api[_ -]?key|access[_ -]?key|credentials?)\b['\"`]?\s*(?:[=:]|\bis\b)\s*"
    r"['\"`]?(?P<value>[^\s'\"`]{6,})",
    re.IGNORECASE,
)
_LONG_WORD: Final = re.compile(r"[A-Za-z0-9+/_=-]{32,}")


def looks_like_secret(text: str) -> bool:
    """Whether a key, token or password seems to stand in `text`. Rather once too often than once too seldom."""
    if _KNOWN_FORMS.search(text):
        return True
    if any(_has_a_digit_or_sign(match["value"]) for match in _NAMED.finditer(text)):
        return True
    return any(_is_random(word) for word in _LONG_WORD.findall(text))


def _has_a_digit_or_sign(value: str) -> bool:
    """`token: handling` is prose; `token: hunter2!` is none."""
    return not value.rstrip(".,;:!?)").isalpha()


def _is_random(word: str) -> bool:
    """Mixed case with digits, and no path or snake_case name: hashes (hex) and identifiers are no secrets."""
    longest = max(re.split(r"[/_=-]", word), key=len)
    if len(longest) < 24:
        return False
    return all(any(map(has, longest)) for has in (str.isdigit, str.islower, str.isupper))
