"""A session as it is told: turns, what stood between them, compactions, and how full the window was.

Everything here is a frozen excerpt. It holds no message, so that the size of a log does not matter, and no text of
it is safe to print or to embed: `text.py` and `page.py` see to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from attrs import frozen

from agent_ls.inspection.ends import Ends
from agent_ls.log.entries import CompactionRecord, Header, MemoryEntry, Totals, TurnEntry, UndoEntry
from agent_ls.protocol import CompactionId, ContextCategoryId
from agent_ls.tokens import Tokens

Shares = Mapping[ContextCategoryId, int]
"""Estimated tokens by kind; kinds that hold nothing are left out."""


@frozen
class PartSeen:
    """One part of a message: what it counts as, pydantic-ai's kind, the tool, the first characters, the whole size.

    `tokens` is estimated. `failed`: a call that failed, was denied or interrupted, or an answer that was refused.
    """

    category: ContextCategoryId
    kind: str
    tool: str | None
    excerpt: str
    characters: int
    tokens: int
    failed: bool = False


@frozen
class MessageSeen:
    """A logged message. `occupancy` is what its provider counted as input, None for a request or where it did not."""

    at: datetime
    ordinal: int
    kind: Literal["request", "response"]
    parts: Ends[PartSeen]
    occupancy: Tokens | None = None


@frozen
class Damage:
    """A line, or a message of one, that a resume does not use as it stands; `line` counts from 0."""

    line: int
    what: str


@frozen
class OrdinalRange:
    """Consecutive messages; both ends are in it."""

    first: int
    last: int

    def __contains__(self, ordinal: object) -> bool:
        return isinstance(ordinal, int) and self.first <= ordinal <= self.last


@frozen
class CarriedSeen:
    """What code wrote under a summary, from the log and past any number of compactions: excerpts, oldest first."""

    words: Ends[str]
    changed: Ends[str]
    read: Ends[str]
    commands: Ends[str]


@frozen
class Compaction:
    """A checkpoint: what went, what took its place and what it did to the window's content.

    `dropped` are the messages that were live before and are not any more. `before` and `after` are estimated from the
    log, where old tool outputs are in full also when they were blanked in memory; the record's own numbers are the
    ones the gauge showed. `summary` is what the model wrote, `carried` what code put under it.
    """

    number: int
    record: CompactionRecord
    dropped: tuple[OrdinalRange, ...]
    before: Shares
    after: Shares
    summary: str
    carried: CarriedSeen


Step = MessageSeen | Compaction | UndoEntry | MemoryEntry | Damage


@frozen
class Turn:
    """What followed one prompt, from 1.

    `end` is None if none was logged: it was imported, was interrupted or runs still. `answered`: the last thing in it
    is an answer, so nothing is missing.
    """

    number: int
    prompt: str
    steps: Ends[Step]
    end: TurnEntry | None
    answered: bool

    @property
    def interrupted(self) -> bool:
        """Whether it stopped before its answer was complete."""
        return self.end.stop_reason == "cancelled" if self.end is not None else not self.answered


@frozen
class Point:
    """How full the window was at one moment; `request` counts the session's model responses, from 1."""

    request: int
    tokens: Tokens


@frozen
class Marked:
    """A checkpoint or an undo behind response `request`; `number` is the compaction's, None where it is unknown."""

    request: int
    kind: Literal["compaction", "undo"]
    number: int | None


@frozen
class Inspection:
    """A whole session.

    `live` counts the messages that a resume would show the model; `undone` names checkpoints.

    `totals` are those of the newest line that has some; where no turn was logged, sums over what was said.
    """

    log: str
    size: int
    header: Header | None
    title: str | None
    timeline: Ends[Turn | Step]
    turns: int
    interrupted: int
    compactions: Ends[Compaction]
    undone: frozenset[CompactionId]
    points: tuple[Point, ...]
    marks: tuple[Marked, ...]
    requests: int
    messages: int
    live: int
    shares: Shares
    failures: Ends[str]
    damage: Ends[Damage]
    totals: Totals
