"""Prompt caching as the two providers do it: a later request reads what an earlier one began with.

A request is serialised into segments (tools, system, then content block by content block), each with its tokens.
OpenAI caches every prefix by itself, in steps of 128 tokens from 1,024 on. Anthropic caches up to the blocks that
carry `cache_control`, and looks back at most 20 blocks from each of them for something already cached.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from attrs import frozen

MINIMUM_TOKENS = 1024
_OPENAI_STEP = 128
_ANTHROPIC_LOOK_BACK = 20
_BLOCK_CHARACTERS = 512


@frozen
class Segment:
    """A piece of the serialised request. `breakpoint`: cached up to here (Anthropic's cache_control)."""

    text: str
    tokens: int
    breakpoint: bool = False


@frozen
class CacheUse:
    """Tokens of the prompt read from the cache and newly written to it."""

    read: int = 0
    write: int = 0


class AutomaticPrefixCache:
    """OpenAI: the longest common prefix with any earlier request, rounded down to 128 tokens."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def use(self, scope: str, segments: Sequence[Segment]) -> CacheUse:
        """What this request reads; it is remembered for later ones. `scope`: model and key, which share nothing."""
        read, tokens_before = 0.0, 0
        digest = hashlib.blake2b(scope.encode(), digest_size=16)
        for segment in segments:
            data = segment.text.encode("utf-8", "replace")
            for start in range(0, max(len(data), 1), _BLOCK_CHARACTERS):
                digest.update(data[start : start + _BLOCK_CHARACTERS])
                key = digest.digest()
                # A digest covers all that came before it, so that what follows a difference is never known.
                if key in self._known:
                    share = min(start + _BLOCK_CHARACTERS, len(data)) / max(len(data), 1)
                    read = tokens_before + segment.tokens * share
                self._known.add(key)
            tokens_before += segment.tokens
        steps = int(read) // _OPENAI_STEP * _OPENAI_STEP
        return CacheUse(read=steps if steps >= MINIMUM_TOKENS else 0)


class BreakpointCache:
    """Anthropic: reads and writes happen at blocks that carry `cache_control`."""

    def __init__(self) -> None:
        self._written: set[bytes] = set()

    def use(self, scope: str, segments: Sequence[Segment]) -> CacheUse:
        """What this request reads and writes; it is remembered for later ones."""
        digest = hashlib.blake2b(scope.encode(), digest_size=16)
        keys: list[bytes] = []
        totals: list[int] = []
        total = 0
        for segment in segments:
            digest.update(segment.text.encode("utf-8", "replace") + b"\0")
            total += segment.tokens
            keys.append(digest.digest())
            totals.append(total)
        breakpoints = [index for index, segment in enumerate(segments) if segment.breakpoint]
        read = 0
        for index in breakpoints:
            for earlier in range(index, max(index - _ANTHROPIC_LOOK_BACK, -1), -1):
                if keys[earlier] in self._written:
                    read = max(read, totals[earlier])
                    break
        cacheable = [index for index in breakpoints if totals[index] >= MINIMUM_TOKENS]
        self._written.update(keys[index] for index in cacheable)
        last = totals[cacheable[-1]] if cacheable else 0
        return CacheUse(read=read, write=max(last - read, 0))
