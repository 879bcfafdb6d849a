"""The one measure: gauge, triggers and records all call the functions here (CASCADE §1, §2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

from attrs import define, field, frozen
from pydantic_ai.messages import ModelMessage, ModelResponse

from agent_ls.compaction.estimate import Estimator, tokens_of_response
from agent_ls.compaction.summary import is_summary
from agent_ls.tokens import NOTHING, Tokens

_TAIL_SHARE: Final = Fraction(30, 100)
_SUMMARY_SHARE: Final = Fraction(10, 100)
_USER_SHARE: Final = Fraction(15, 100)
_MOST_SUMMARY_TOKENS: Final = 8_000
LARGE_FIXED_SHARE: Final = Fraction(60, 100)
_MORE_THAN_NOISE: Final = 1.15
_CALIBRATING_MESSAGES: Final = 64
_LEAST_RATIO_IN_A_LOG: Final = 0.8
"""A log does not tell what was blanked between two counts, and a factor too low lets through what does not fit."""

_FRAMEWORK_METADATA: Final = "__pydantic_ai__"
_CONTEXT_INPUT: Final = ("context_input_tokens", "initial_input_tokens")
"""What pydantic-ai calls it now, and what version 2.56 called it in histories it saved."""


def level(window: int, reserve: float) -> int:
    """The largest whole number not above window*(1-reserve), exactly: `reserve` is the decimal it is written as."""
    return math.floor(window * (1 - Fraction(repr(reserve))))


@frozen
class Levels:
    """Occupancies, in tokens, at which the tiers fire. Raises ValueError for what CASCADE §2 rules out."""

    window: int
    micro: int
    full: int

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.micro <= self.full < self.window:
            raise ValueError(
                f"levels must be 0 <= micro <= full < window, got {self.micro}, {self.full}, {self.window}"
            )

    @classmethod
    def of(cls, window: int, *, micro_reserve: float, full_reserve: float) -> Levels:
        """The levels of a window whose reserves are kept free."""
        if window <= 0:
            raise ValueError(f"a window must be greater than 0, got {window}")
        if not 0 < full_reserve < micro_reserve < 1:
            raise ValueError(f"reserves must be 0 < full < micro < 1, got full {full_reserve}, micro {micro_reserve}")
        return cls(window, level(window, micro_reserve), level(window, full_reserve))


@frozen
class Budgets:
    """How much of a window each share of a compacted history may take, in tokens; they fit together at any size."""

    usable: int
    tail: int
    summary: int
    user_words: int

    @classmethod
    def of(cls, window: int, fixed: int, *, keep_recent: int, keep_user: int) -> Budgets:
        """Shares of the window without the fixed part (instructions and tools)."""
        usable = max(window - fixed, 0)
        return cls(
            usable=usable,
            tail=min(keep_recent, math.floor(usable * _TAIL_SHARE)),
            summary=min(_MOST_SUMMARY_TOKENS, math.floor(usable * _SUMMARY_SHARE)),
            user_words=min(keep_user, math.floor(usable * _USER_SHARE)),
        )


def context_input(response: ModelResponse) -> int:
    """Input tokens of the response's context; 0 if the provider did not say.

    A response that bills several requests carries its context size in metadata (pydantic-ai's `_context_size`).
    """
    framework = (response.metadata or {}).get(_FRAMEWORK_METADATA)
    if isinstance(framework, Mapping):
        for name in _CONTEXT_INPUT:
            stamped = framework.get(name)
            if isinstance(stamped, int) and stamped > 0:
                return stamped
    return max(response.usage.input_tokens, 0)


def anchor(messages: Sequence[ModelMessage], first: int = 0) -> int | None:
    """Index of the newest response that reports usage, at `first` or after it; None if there is none.

    `first` is the index of the first message produced after the last checkpoint: older usage tells of a history that
    is no more (FAULTS 9).
    """
    for index in range(len(messages) - 1, first - 1, -1):
        message = messages[index]
        if isinstance(message, ModelResponse) and context_input(message) > 0:
            return index
    return None


def last_input_tokens(messages: Sequence[ModelMessage], first: int = 0) -> int:
    """The occupancy: what the provider counted last; 0 if unknown."""
    index = anchor(messages, first)
    message = messages[index] if index is not None else None
    return context_input(message) if isinstance(message, ModelResponse) else 0


@define
class Measure:
    """What one session's context occupies, from what its provider counted and what came after.

    Messages are what the model will see; `first` is the index of the first produced after the last checkpoint.
    """

    estimator: Estimator = field(factory=Estimator)
    _carried: float = field(init=False, default=0.0)
    _learned: Tokens | None = field(init=False, default=None)
    _carried_when_learned: float | None = field(init=False, default=None)
    _freed: int = field(init=False, default=0)
    _distrusted: bool = field(init=False, default=False)
    _blanked_once: bool = field(init=False, default=False)

    @property
    def fixed(self) -> Tokens:
        """What every request carries besides messages: as the first response's count told, estimated before that."""
        if self._learned is None:
            return Tokens.estimated(round(self._carried * self.estimator.factor))
        if self._carried_when_learned is None:
            return self._learned
        changed = round((self._carried - self._carried_when_learned) * self.estimator.factor)
        return self._learned if not changed else Tokens.estimated(max(self._learned.count + changed, 0))

    def carries(self, tokens: int) -> None:
        """Requests carry so many tokens of instructions and tool schemas now, as the session's estimator says."""
        self._carried = tokens / self.estimator.factor
        if self._learned is not None and self._carried_when_learned is None:
            self._carried_when_learned = self._carried

    def resumed(self, messages: Sequence[ModelMessage], first: int) -> None:
        """The history comes from a log, in full: its newest usage may tell of one that was partly blanked.

        What its responses counted calibrates the estimate as it did when they came.
        """
        self._distrusted = self._blanked_once = True
        recent = max(len(messages) - _CALIBRATING_MESSAGES, 0)
        counted = [index for index in range(recent, len(messages)) if _input_of(messages[index]) > 0]
        for earlier, later in pairwise(counted):
            if not earlier < first <= later:
                grown = _input_of(messages[later]) - _input_of(messages[earlier])
                self.estimator.observe(messages[earlier:later], grown, least=_LEAST_RATIO_IN_A_LOG)
        # Of a history that begins with a summary, no count tells: another one stood before those messages.
        begins = first == 0 or not is_summary(messages[0])
        if begins and (start := next((i for i, message in enumerate(messages) if _input_of(message) > 0), None)):
            self._learn_fixed(_input_of(messages[start]), messages[:start])

    def occupancy(self, messages: Sequence[ModelMessage], first: int) -> int:
        """What the triggers of CASCADE §3 compare with the levels: measured, 0 if unknown."""
        return last_input_tokens(messages, first)

    def used(self, messages: Sequence[ModelMessage], first: int) -> Tokens:
        """What the gauge shows: as measured; estimated where something was made smaller since, or nothing measured."""
        if (measured := last_input_tokens(messages, first)) <= 0:
            return self._without_anchor(messages) if messages else NOTHING
        if (weighed := self._instead_of(measured, messages)) is not None:
            return weighed
        return Tokens.estimated(max(measured - self._freed, 0)) if self._freed else Tokens.measured(measured)

    def projected(self, messages: Sequence[ModelMessage], first: int) -> Tokens:
        """What a request with all these messages will occupy: anchor input + output + estimate of what came after."""
        index = anchor(messages, first)
        response = messages[index] if index is not None else None
        if index is None or not isinstance(response, ModelResponse):
            return self._without_anchor(messages)
        known = context_input(response) + tokens_of_response(response, self.estimator) - self._freed
        projected = Tokens.estimated(max(known, 0) + self.estimator.messages(messages[index + 1 :]))
        weighed = self._instead_of(projected.count, messages)
        return weighed if weighed is not None else projected

    def responded(self, messages: Sequence[ModelMessage], first: int) -> None:
        """The last of `messages` is a new response: learn from what its provider counted."""
        if not messages or (counted := _input_of(messages[-1])) <= 0:
            return
        sent = messages[:-1]
        before = anchor(sent, first)
        if before is None:
            if self._learned is None:
                self._learn_fixed(counted, sent)
        elif not self._freed and self._instead_of(_input_of(sent[before]), sent[: before + 1]) is None:
            self.estimator.observe(sent[before:], counted - _input_of(sent[before]))
        self._freed = 0
        self._distrusted = False

    def blanked(self, freed: int) -> None:
        """A microcompaction freed about so many tokens of what the newest response counted."""
        self._freed += freed
        self._blanked_once = True

    def replaced(self) -> None:
        """A checkpoint was written: nothing counted before holds."""
        self._freed = 0
        self._distrusted = False

    def restored(self) -> None:
        """A checkpoint was undone: the history is in full again, as after a resume.

        Its old counts tell of it only if nothing was ever blanked.
        """
        self._freed = 0
        self._distrusted = self._blanked_once

    def _learn_fixed(self, counted: int, messages: Sequence[ModelMessage]) -> None:
        if (learned := counted - self.estimator.messages(messages)) > 0:
            self._learned = Tokens.measured(learned)
            self._carried_when_learned = self._carried or None

    def _instead_of(self, counted: int, messages: Sequence[ModelMessage]) -> Tokens | None:
        """The messages' weight, where what was counted before a resume does not tell of them; None where it does.

        Blanked after a resume, they have lost what that count may never have held: it cannot be taken off it.
        """
        if not self._distrusted:
            return None
        weighed = self._without_anchor(messages)
        return weighed if self._freed or weighed.count > counted * _MORE_THAN_NOISE else None

    def _without_anchor(self, messages: Sequence[ModelMessage]) -> Tokens:
        return Tokens.estimated(self.fixed.count + self.estimator.messages(messages))


def _input_of(message: ModelMessage) -> int:
    return context_input(message) if isinstance(message, ModelResponse) else 0
