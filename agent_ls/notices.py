"""What a session says once, and not at every request (FAULTS 3, 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from attrs import define, field

Notice = Literal["fixed", "guard", "compaction", "window"]


@define
class Notices:
    """Sentences in the gauge, each under the id of what it is about. `warn` shows one, or takes it away with None."""

    warn: Callable[[str, str | None], None]
    _said: set[Notice] = field(init=False, factory=set)

    def once(self, notice: Notice, message: str) -> None:
        """Say it, unless something was said about this since it was last taken back."""
        if notice not in self._said:
            self.anew(notice, message)

    def anew(self, notice: Notice, message: str) -> None:
        """Say it in place of what was said before."""
        self._said.add(notice)
        self.warn(notice, message)

    def take_back(self, notice: Notice) -> None:
        """It is no longer so."""
        if notice in self._said:
            self._said.remove(notice)
            self.warn(notice, None)
