"""What a value may be: a closed set of rules. Each checks a typed value, reads one from text and describes itself.

Types are strict: the text "20" is no number, and true is no 1 (DESIGN §8, PROTOCOL "unknown values refused by name").
Only the environment, which knows nothing but text, goes through `parse`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


class BreaksRule(ValueError):
    """A value is not what its rule says."""


@frozen
class Flag:
    """True or false."""

    @property
    def text(self) -> str:
        """The rule as the end of a sentence: "it ..."."""
        return "must be true or false"

    def check(self, value: object) -> bool:
        """The value itself. Raises BreaksRule."""
        if isinstance(value, bool):
            return value
        raise BreaksRule(self.text)

    def parse(self, text: str) -> bool:
        """The value an environment variable spells. Raises BreaksRule."""
        word = text.strip().lower()
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        raise BreaksRule(self.text)

    def json_schema(self) -> Mapping[str, Any]:
        """The rule as JSON Schema."""
        return {"type": "boolean"}


@frozen
class Whole:
    """A whole number, `minimum` or more, counted in `unit`."""

    minimum: int
    unit: str

    @property
    def text(self) -> str:
        """See `Flag.text`."""
        return f"must be a whole number of {self.unit}, {self.minimum} or more"

    def check(self, value: object) -> int:
        """See `Flag.check`."""
        if isinstance(value, int) and not isinstance(value, bool) and value >= self.minimum:
            return value
        raise BreaksRule(self.text)

    def parse(self, text: str) -> int:
        """See `Flag.parse`; `20_000` is a number too."""
        try:
            number = int(text)
        except ValueError:
            raise BreaksRule(self.text) from None
        return self.check(number)

    def json_schema(self) -> Mapping[str, Any]:
        """See `Flag.json_schema`."""
        return {"type": "integer", "minimum": self.minimum}


@frozen
class Share:
    """A share of the whole: between 0 and 1, never 1, and 0 only if `zero_allowed`."""

    zero_allowed: bool = False

    @property
    def text(self) -> str:
        """See `Flag.text`."""
        if self.zero_allowed:
            return "must be a number from 0 up to, but not, 1"
        return "must be a number above 0 and below 1"

    def check(self, value: object) -> float:
        """See `Flag.check`."""
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            number = float(value)
            if 0 < number < 1 or (self.zero_allowed and number == 0):
                return number
        raise BreaksRule(self.text)

    def parse(self, text: str) -> float:
        """See `Flag.parse`."""
        try:
            number = float(text)
        except ValueError:
            raise BreaksRule(self.text) from None
        return self.check(number)

    def json_schema(self) -> Mapping[str, Any]:
        """See `Flag.json_schema`."""
        lower = {"minimum": 0} if self.zero_allowed else {"exclusiveMinimum": 0}
        return {"type": "number", **lower, "exclusiveMaximum": 1}


@frozen
class OneOf:
    """One of a few words."""

    words: Sequence[str]

    @property
    def text(self) -> str:
        """See `Flag.text`."""
        return f"must be one of {', '.join(self.words)}"

    def check(self, value: object) -> str:
        """See `Flag.check`."""
        if isinstance(value, str) and value in self.words:
            return value
        raise BreaksRule(self.text)

    def parse(self, text: str) -> str:
        """See `Flag.parse`."""
        return self.check(text.strip())

    def json_schema(self) -> Mapping[str, Any]:
        """See `Flag.json_schema`."""
        return {"type": "string", "enum": list(self.words)}


@frozen
class ModelName:
    """The name of a model, as agent_ls.models reads it; whether it exists is found out when it is used."""

    @property
    def text(self) -> str:
        """See `Flag.text`."""
        return "must be a model's name, such as anthropic:claude-sonnet-5-5, or local"

    def check(self, value: object) -> str:
        """See `Flag.check`."""
        if isinstance(value, str) and value.strip() and value.isprintable():
            return value.strip()
        raise BreaksRule(self.text)

    def parse(self, text: str) -> str:
        """See `Flag.parse`."""
        return self.check(text)

    def json_schema(self) -> Mapping[str, Any]:
        """See `Flag.json_schema`."""
        return {"type": "string", "minLength": 1}


Rule = Flag | Whole | Share | OneOf | ModelName
