"""Where a history may be cut (CASCADE §4): never between a tool call and its result, decided by position alone.

Local models use the same tool call ids again and again, so ids decide nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelResponse, RetryFeedbackPart, ToolReturnPart

from agent_ls.compaction.estimate import Estimator

_KEY: Final = object()

RECENT_RESULTS: Final = 10
_LEAST_OF_KEEP: Final = 3
_MOST_OF_KEEP: Final = 1.5


class Boundary:
    """A place in a history where it may be cut: `messages[:index]` and `messages[index:]`. Made here only."""

    __slots__ = ("index",)

    index: int

    def __init__(self, index: int, key: object) -> None:
        if key is not _KEY:
            raise TypeError("a Boundary is made by agent_ls.compaction.boundary only")
        object.__setattr__(self, "index", index)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Boundary does not change")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Boundary) and other.index == self.index

    def __hash__(self) -> int:
        return hash(self.index)

    def __repr__(self) -> str:
        return f"Boundary({self.index})"


def is_valid_cut(messages: Sequence[ModelMessage], index: int) -> bool:
    """Whether a tail may begin at `index`: with a response, or a request that answers no call."""
    if not 0 <= index <= len(messages):
        return False
    if index in (0, len(messages)):
        return True
    message = messages[index]
    return isinstance(message, ModelResponse) or not any(answers_a_call(part) for part in message.parts)


def answers_a_call(part: object) -> bool:
    """A tool result or a retry, in all the forms pydantic-ai 2.62 has."""
    return isinstance(part, ToolReturnPart | RetryFeedbackPart) or is_legacy_retry(part)


def is_legacy_retry(part: object) -> bool:
    """The deprecated RetryPromptPart: its kind tells, as touching the class warns."""
    return getattr(part, "part_kind", None) == "retry-prompt"


def split_tail(messages: Sequence[ModelMessage], keep: int, estimator: Estimator) -> Boundary:
    """The longest tail whose estimate fits `keep` tokens, moved back to the nearest valid boundary.

    Back is towards the start: the response whose results begin the tail joins it, so a tail may be longer than `keep`
    by one response. Index 0: everything fits, or no cut exists. Index len: not even the newest message fits.
    Weighs the tail and one message more, nothing before it.
    """
    start = len(messages)
    room = keep
    while start > 0:
        room -= estimator.message(messages[start - 1])
        if room < 0:
            break
        start -= 1
    while not is_valid_cut(messages, start):
        start -= 1
    return Boundary(start, _KEY)


def recent_tail(messages: Sequence[ModelMessage], keep: int, estimator: Estimator) -> Boundary:
    """What a compaction keeps verbatim: the newest ten tool results, in `keep` tokens at most, a third at least.

    Without so many results it is the longest tail that fits. A longer one is carried by every later request, and the
    log has what is not kept (ADR 10). A huge response does not join its results, as it does in `split_tail`: they go
    with it.
    """
    longest = split_tail(messages, keep, estimator).index
    if estimator.messages(messages[longest:]) > keep * _MOST_OF_KEEP:
        longest = next((at for at in range(longest + 1, len(messages)) if is_valid_cut(messages, at)), len(messages))
    start, results = len(messages), 0
    while start > longest and results < RECENT_RESULTS:
        start -= 1
        results += sum(map(answers_a_call, messages[start].parts))
    shortest = split_tail(messages, keep // _LEAST_OF_KEEP, estimator).index
    return Boundary(max(longest, cut_before(messages, min(start, shortest)).index), _KEY)


def cut_before(messages: Sequence[ModelMessage], index: int) -> Boundary:
    """The nearest valid boundary at `index` or before it."""
    start = min(max(index, 0), len(messages))
    while not is_valid_cut(messages, start):
        start -= 1
    return Boundary(start, _KEY)


def newest_round(messages: Sequence[ModelMessage]) -> int:
    """Index from which on the model has not answered yet; len(messages) if it has answered everything.

    What follows the newest response that says anything, that response included when calls of its are answered there.
    A response without parts is one that failed or was stopped before its first word: it has answered nothing.
    """
    index = len(messages)
    while index > 0 and not _says_anything(messages[index - 1]):
        index -= 1
    if index == len(messages):
        return index
    return cut_before(messages, index).index


def _says_anything(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and bool(message.parts)
