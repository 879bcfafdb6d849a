"""The simulator's own tokenizer: real byte-pair encodings, so that nothing of agent_ls is checked against itself."""

from __future__ import annotations

import json
import warnings
from functools import cache
from typing import Any, Literal, Protocol

with warnings.catch_warnings():
    # The package opens its rank files by a deprecated function.
    warnings.simplefilter("ignore", DeprecationWarning)
    # Its public `get_encoding()` refuses 1,000,000 characters and builds lists of ids; the binding below just counts.
    from bpe_openai import _bindings  # ships no py.typed

EncodingName = Literal["o200k_base", "cl100k_base"]


class _Counting(Protocol):
    def count(self, text: str) -> int: ...


@cache
def _encoding(name: EncodingName) -> _Counting:
    encoding: _Counting = _bindings.tokenizer_for_encoding(name)
    return encoding


def count_text(text: str, encoding: EncodingName) -> int:
    """Tokens of a text. Lone surrogates count as the replacement character."""
    try:
        return _encoding(encoding).count(text)
    except UnicodeEncodeError:
        return _encoding(encoding).count(text.encode("utf-8", "replace").decode("utf-8"))


def compact_json(value: Any) -> str:
    """The shortest JSON of a value, keys in their order: what schemas and arguments are counted as."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
