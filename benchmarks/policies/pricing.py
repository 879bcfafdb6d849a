"""What a session's requests cost, with a prompt cache, in tokens of uncached input.

As the providers bill a long session: what a request begins with and the one before began with is read from the cache,
all else of it is written to the cache. A summary call is asked once and caches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import define, field

CACHED: Final = 0.1
CACHE_WRITE: Final = 1.25
INPUT: Final = 1.0
OUTPUT: Final = 5.0


@define
class Bill:
    """Adds up one session. `billed` is in tokens of uncached input."""

    billed: float = field(init=False, default=0.0)
    billed_for_summaries: float = field(init=False, default=0.0)
    cached_tokens: int = field(init=False, default=0)
    input_tokens: int = field(init=False, default=0)
    cache_breaks: int = field(init=False, default=0)
    summary_calls: int = field(init=False, default=0)
    _before: Sequence[tuple[bytes, int]] = field(init=False, default=())

    def request(self, segments: Sequence[tuple[bytes, int]], output_tokens: int) -> int:
        """A request of segments (digest, tokens) and its answer; how many tokens of it came from the cache."""
        common = 0
        for (digest, _), (before, _) in zip(segments, self._before, strict=False):
            if digest != before:
                break
            common += 1
        cached = sum(tokens for _, tokens in segments[:common])
        total = sum(tokens for _, tokens in segments)
        self.cache_breaks += common < len(self._before)
        self._before = segments
        self.cached_tokens += cached
        self.input_tokens += total
        self.billed += cached * CACHED + (total - cached) * CACHE_WRITE + output_tokens * OUTPUT
        return cached

    def summary(self, input_tokens: int, output_tokens: int) -> None:
        """A call that wrote a summary."""
        cost = input_tokens * INPUT + output_tokens * OUTPUT
        self.summary_calls += 1
        self.billed += cost
        self.billed_for_summaries += cost
