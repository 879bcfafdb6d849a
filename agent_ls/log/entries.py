"""The typed lines of a session log (DESIGN §4). docs/log-format.md describes each field for readers of the file.

Ordinals number every message of a session in the order it was logged, from 0. A message keeps its ordinal through
compactions and undos, so whatever a checkpoint dropped can be found again.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NewType

from attrs import evolve, field, frozen, validators

from agent_ls.protocol import CompactionId, SessionId, StopReason, Trigger, TurnId, TurnUsage
from agent_ls.tokens import Tokens

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequest

FORMAT_VERSION: Final = 1

Ordinal = NewType("Ordinal", int)
"""A message's number in its session, by log order, from 0."""

_not_negative = validators.ge(0)


def now() -> datetime:
    """The time, as entries carry it: UTC, whole milliseconds."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@frozen
class Unreadable:
    """Stands for a logged message that this pydantic-ai cannot load; it keeps its ordinal."""

    reason: str


@frozen
class Totals:
    """Sums over a whole session, repeated so that a resume need not read the whole log.

    `cost` is USD, None while no price is known. `answered` is the ordinal after the newest model response and
    `remembered` the one up to which the memory write-back is done: a session with answered > remembered has
    something to remember.
    """

    turns: int = field(default=0, validator=_not_negative)
    requests: int = field(default=0, validator=_not_negative)
    input_tokens: int = field(default=0, validator=_not_negative)
    output_tokens: int = field(default=0, validator=_not_negative)
    cache_read_tokens: int = field(default=0, validator=_not_negative)
    cost: float | None = None
    answered: int = field(default=0, validator=_not_negative)
    remembered: int = field(default=0, validator=_not_negative)

    def with_turn(self, usage: TurnUsage, cost: float | None) -> Totals:
        """These sums with one turn more."""
        return evolve(
            self.with_cost(cost),
            turns=self.turns + 1,
            requests=self.requests + usage.requests,
            input_tokens=self.input_tokens + usage.input_tokens,
            output_tokens=self.output_tokens + usage.output_tokens,
            cache_read_tokens=self.cache_read_tokens + usage.cache_read_tokens,
        )

    def with_cost(self, cost: float | None) -> Totals:
        """These sums with a cost more; an unknown one changes nothing."""
        return self if cost is None else evolve(self, cost=(self.cost or 0.0) + cost)


@frozen
class Header:
    """Line 0: whose log this is. `workspace` is the folder's absolute path, `agent_ls` the version that made it."""

    version: int
    session_id: SessionId
    workspace: str
    created: datetime
    agent_ls: str


@frozen
class MessagesEntry:
    """Messages in log order; the first has the ordinal `ordinal`, the others follow on.

    `title` is the first line of the session's first prompt, on the entry that holds it.
    """

    at: datetime
    ordinal: int = field(validator=_not_negative)
    messages: tuple[ModelMessage | Unreadable, ...]
    title: str | None = None


@frozen
class CompactionRecord:
    """The scalars of a checkpoint; a session keeps them without its messages.

    `covers` is how many messages the summary stands for. `tail_ordinals` has one number for each tail message,
    None for one that was never logged (an "interrupted" result made up on load). `before` and `after` come from
    the same measure. `next_ordinal` is the one the next logged message gets. `cost` is the summary call's, in USD.
    """

    at: datetime
    compaction_id: CompactionId
    trigger: Trigger
    before: Tokens
    after: Tokens
    covers: int = field(validator=_not_negative)
    tail_ordinals: tuple[int | None, ...]
    next_ordinal: int = field(validator=_not_negative)
    totals: Totals
    cost: float | None = None


@frozen
class CompactionEntry:
    """A checkpoint: from here on the history is [summary, *tail] (CASCADE §6). The tail is in full fidelity."""

    record: CompactionRecord
    summary: ModelRequest
    tail: tuple[ModelMessage, ...] = field()

    @tail.validator
    def _has_an_ordinal_each(self, _attribute: object, tail: tuple[ModelMessage, ...]) -> None:
        if len(tail) != len(self.record.tail_ordinals):
            raise ValueError(f"{len(tail)} tail messages but {len(self.record.tail_ordinals)} tail ordinals")


@frozen
class UndoEntry:
    """The checkpoint `compaction_id` is undone, and any after it: back to before it, plus what came after."""

    at: datetime
    compaction_id: CompactionId


@frozen
class TurnEntry:
    """A turn ended. `usage` sums its requests, `messages` counts all messages of the session so far."""

    at: datetime
    turn_id: TurnId
    stop_reason: StopReason
    usage: TurnUsage
    cost: float | None
    messages: int = field(validator=_not_negative)
    totals: Totals
    error: str | None = None


@frozen
class MemoryEntry:
    """The memory write-back is done up to the ordinal `covers`; `sentence` is what was remembered, None if nothing."""

    at: datetime
    covers: int = field(validator=_not_negative)
    sentence: str | None


@frozen
class UnknownEntry:
    """A line of a type this version does not know: kept in the file, skipped on replay."""

    type: str


LogEntry = Header | MessagesEntry | CompactionEntry | UndoEntry | TurnEntry | MemoryEntry | UnknownEntry
WritableEntry = Header | MessagesEntry | CompactionEntry | UndoEntry | TurnEntry | MemoryEntry
