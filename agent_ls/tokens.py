"""Token counts that say where they come from.

A count is *measured* when a provider reported it, *estimated* when agent_ls computed it. The two never mix
silently: adding an estimate to a measurement gives an estimate (CASCADE §1, DESIGN §1 "honest").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Basis = Literal["measured", "estimated"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """A number of tokens (>= 0) and how it is known. Raises ValueError for a negative count."""

    count: int
    basis: Basis

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError(f"a token count cannot be negative, got {self.count}")

    @classmethod
    def measured(cls, count: int) -> Tokens:
        """A count that a provider reported."""
        return cls(count, "measured")

    @classmethod
    def estimated(cls, count: int) -> Tokens:
        """A count that agent_ls computed."""
        return cls(count, "estimated")

    @property
    def is_measured(self) -> bool:
        """Whether a provider reported this count."""
        return self.basis == "measured"

    @property
    def in_words(self) -> str:
        """As a person reads it: an estimate is marked with a tilde."""
        return f"{'' if self.is_measured or not self.count else '~'}{self.count:,}"

    def __add__(self, other: Tokens) -> Tokens:
        both: Basis = "measured" if self.is_measured and other.is_measured else "estimated"
        return Tokens(self.count + other.count, both)


NOTHING = Tokens(0, "estimated")
"""What a session without messages occupies, as PROTOCOL "Shared types" wants it reported."""
