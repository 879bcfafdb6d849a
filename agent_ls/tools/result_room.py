"""Shares what the window has left among the results of one round (CASCADE §9).

A bound on each result alone does not keep a round of parallel calls within the window: nothing of a round can be freed
before the model has seen it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import define, field

from agent_ls.tools.output import Bounds, Share

_FRAME_TOKENS: Final = 12
"""What a provider adds around each result."""


@define
class ResultRoom:
    """The room of the round that runs now.

    `window` and `room` are tokens: of the whole window, and for the results of a round that begins; `weigh` counts a
    text's. Each result may take an equal part of what is left for it and those still to come; what it does not need is
    theirs. Calls run side by side, but nothing here waits, so no two of them get the same room.
    """

    window: Callable[[], int]
    room: Callable[[], int]
    weigh: Callable[[str], int]
    _calls: int = field(init=False, default=1)
    _left: int | None = field(init=False, default=None)

    def begin_round(self, calls: int) -> None:
        """A response with so many calls is complete."""
        self._calls, self._left = calls, None

    def bounds(self) -> Bounds:
        """The bounds of the result that comes next, for a tool that pages what it returns."""
        return self.bounds_of(self._share())

    def next_result(self) -> ResultShare:
        """The share of a result that enters now."""
        share = self._share()
        self._calls -= 1
        self.spend(_FRAME_TOKENS)
        return ResultShare(self, share)

    def spend(self, tokens: int) -> None:
        """So much of the round's room is taken."""
        self._left = self._tokens_left() - tokens

    def bounds_of(self, tokens: int) -> Bounds:
        """The bounds of a text that may weigh so many tokens."""
        return Bounds.of_window(self.window(), Share(tokens, self.weigh))

    def _share(self) -> int:
        return max(self._tokens_left() // max(self._calls, 1) - _FRAME_TOKENS, 0)

    def _tokens_left(self) -> int:
        # The room is asked for when the first result comes: only then the response is in the history.
        if self._left is None:
            self._left = self.room()
        return self._left


@define
class ResultShare:
    """What one result may still take of its round's room, in tokens."""

    _room: ResultRoom
    tokens: int

    def bounds(self) -> Bounds:
        """The bounds of its next text."""
        return self._room.bounds_of(self.tokens)

    def take_text(self, text: str) -> None:
        """A text of it enters."""
        self.take(self._room.weigh(text))

    def take(self, tokens: int) -> None:
        """So many tokens of it enter."""
        self.tokens -= tokens
        self._room.spend(tokens)
