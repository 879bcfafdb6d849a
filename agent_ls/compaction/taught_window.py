"""The window a provider teaches by refusing what its declared one should have held (CASCADE §10)."""

from __future__ import annotations

from typing import Final

from attrs import define, field

_GUESSED_SHARE: Final = 0.95
"""Of what was sent: the window taught by a refusal that names no number."""


@define
class TaughtWindow:
    """Holds for one declared window: a new model or setting is believed again. All sizes in tokens."""

    _declared: int = field(init=False, default=0)
    _tokens: int = field(init=False, default=0)

    def of(self, declared: int) -> int:
        """The window to count with."""
        return min(declared, self._tokens) if declared == self._declared else declared

    def learn(self, declared: int, sent: int, *, limit: int | None, rejected: int | None) -> int | None:
        """A request of about `sent` tokens was refused; `limit` and `rejected` as the provider told. None: no news."""
        taught = limit or (rejected - 1 if rejected else int(sent * _GUESSED_SHARE))
        if not 0 < taught < self.of(declared):
            return None
        self._declared, self._tokens = declared, taught
        return taught
