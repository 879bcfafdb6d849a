"""Reads a log from its first line to its last and adds up what happened, one line in memory at a time.

`log/replay.py` says what each line means for the live history; here the same rules are applied to ordinals and sizes
instead of messages (tests/inspection/ measures the one by the other).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import define, evolve, field, frozen
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from agent_ls.compaction.boundary import answers_a_call
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.occupancy import context_input
from agent_ls.inspection.ends import EndsCollector
from agent_ls.inspection.excerpts import carried_seen, message_seen, prompt_of, shares_of, summary_of
from agent_ls.inspection.session import (
    Compaction,
    Damage,
    Inspection,
    Marked,
    OrdinalRange,
    Point,
    Shares,
    Step,
    Turn,
)
from agent_ls.log.codec import BadLine, decode, salvage
from agent_ls.log.entries import (
    CompactionEntry,
    Header,
    LogEntry,
    MemoryEntry,
    MessagesEntry,
    Totals,
    TurnEntry,
    UndoEntry,
    UnknownEntry,
    Unreadable,
)
from agent_ls.log.lines import forwards
from agent_ls.protocol import CompactionId
from agent_ls.tokens import Tokens

_FIRST_TURNS, _LAST_TURNS = 100, 300
_FIRST_STEPS, _LAST_STEPS = 40, 120
_MOST_COMPACTIONS: Final = 100
_MOST_FAILURES: Final = 50
_FAILURE_CHARACTERS: Final = 200
_MOST_POINTS: Final = 2_000
_MOST_MARKS: Final = 500
_GREATEST_COUNT: Final = 10**12
"""Of tokens in a chart: a damaged line may claim any number."""


def inspect_log(path: Path) -> Inspection:
    """The session of the log at `path`. The log is only read, also while it is in use. Raises OSError."""
    reader = _Reader()
    with path.open("rb") as file:
        for number, line in enumerate(forwards(file)):
            reader.line(number, line.data)
    return reader.inspection(path)


@frozen
class _Live:
    """A message the model sees: its ordinal, None for a summary or a made-up result, and what it weighs."""

    ordinal: int | None
    shares: Shares


@frozen
class _Checkpoint:
    """What a checkpoint replaced, and the length of what it put there."""

    compaction_id: CompactionId
    number: int
    before: tuple[_Live, ...]
    length: int


@define
class _OpenTurn:
    number: int
    prompt: str
    steps: EndsCollector[Step] = field(factory=lambda: EndsCollector(_FIRST_STEPS, _LAST_STEPS))

    answered: bool = False

    def closed(self, end: TurnEntry | None) -> Turn:
        return Turn(self.number, self.prompt, self.steps.ends(), end, self.answered)


@define
class _Reader:
    _estimator: Estimator = field(init=False, factory=Estimator)
    _header: Header | None = field(init=False, default=None)
    _title: str | None = field(init=False, default=None)
    _timeline: EndsCollector[Turn | Step] = field(init=False, factory=lambda: EndsCollector(_FIRST_TURNS, _LAST_TURNS))
    _turn: _OpenTurn | None = field(init=False, default=None)
    _turns: int = field(init=False, default=0)
    _interrupted: int = field(init=False, default=0)
    _compactions: EndsCollector[Compaction] = field(
        init=False, factory=lambda: EndsCollector(_MOST_COMPACTIONS, _MOST_COMPACTIONS)
    )
    _compacted: int = field(init=False, default=0)
    _undone: set[CompactionId] = field(init=False, factory=set)
    _checkpoints: list[_Checkpoint] = field(init=False, factory=list)
    _live: list[_Live] = field(init=False, factory=list)
    _weight: int = field(init=False, default=0)
    """Estimated tokens of all that is live."""
    _points: list[Point] = field(init=False, factory=list)
    _marks: EndsCollector[Marked] = field(init=False, factory=lambda: EndsCollector(_MOST_MARKS, _MOST_MARKS))
    _requests: int = field(init=False, default=0)
    _messages: int = field(init=False, default=0)
    _shares: Counter[Any] = field(init=False, factory=Counter)
    _failures: EndsCollector[str] = field(init=False, factory=lambda: EndsCollector(_MOST_FAILURES, _MOST_FAILURES))
    _damage: EndsCollector[Damage] = field(init=False, factory=lambda: EndsCollector(_MOST_FAILURES, _MOST_FAILURES))
    _totals: Totals = field(init=False, factory=Totals)
    _used: RequestUsage = field(init=False, factory=RequestUsage)

    def line(self, number: int, data: bytes) -> None:
        """One complete line of the file."""
        if not data:
            return
        entry: LogEntry | None
        try:
            entry = decode(data)
        except BadLine as bad:
            entry = salvage(data)
            use = "skipped on resume" if entry is None else "only its end is used on resume"
            self._damaged(Damage(number, f"bad line, {use}: {bad}"))
        self._entry(number, entry)

    def inspection(self, path: Path) -> Inspection:
        """All of it, once the last line was read."""
        self._close_turn(None)
        return Inspection(
            log=str(path),
            size=path.stat().st_size,
            header=self._header,
            title=self._title,
            timeline=self._timeline.ends(),
            turns=self._turns,
            interrupted=self._interrupted,
            compactions=self._compactions.ends(),
            undone=frozenset(self._undone),
            points=tuple(self._points),
            marks=tuple(self._marks.ends()),
            requests=self._requests,
            messages=self._messages,
            live=len(self._live),
            shares=dict(self._shares),
            failures=self._failures.ends(),
            damage=self._damage.ends(),
            totals=self._totals if self._totals.turns else self._said_totals(),
        )

    def _said_totals(self) -> Totals:
        used = self._used
        return evolve(
            self._totals,
            turns=self._turns,
            requests=self._requests,
            input_tokens=max(used.input_tokens, 0),
            output_tokens=max(used.output_tokens, 0),
            cache_read_tokens=max(used.cache_read_tokens, 0),
        )

    def _entry(self, line: int, entry: LogEntry | None) -> None:
        match entry:
            case Header():
                self._header = self._header or entry
            case MessagesEntry():
                self._said(line, entry)
            case CompactionEntry():
                self._compact(entry)
            case UndoEntry():
                self._step(entry)
                self._undo(entry.compaction_id)
            case TurnEntry():
                self._totals = entry.totals
                if entry.error:
                    self._failures.add(entry.error)
                if self._turn is None:
                    self._turns += 1
                    self._turn = _OpenTurn(self._turns, "")
                self._close_turn(entry)
            case MemoryEntry():
                self._totals = evolve(self._totals, remembered=entry.covers)
                self._step(entry)
            case UnknownEntry():
                self._damaged(Damage(line, f"unknown line of type {entry.type!r}, kept and skipped"))
            case None:
                pass

    def _said(self, line: int, entry: MessagesEntry) -> None:
        self._title = self._title or entry.title
        for ordinal, message in enumerate(entry.messages, entry.ordinal):
            if isinstance(message, Unreadable):
                self._damaged(Damage(line, f"message {ordinal} cannot be read and is left out: {message.reason}"))
                continue
            prompt = prompt_of(message)
            if prompt is not None and (self._turn is None or not any(map(answers_a_call, message.parts))):
                # Beside tool results a prompt steers the turn that runs.
                self._close_turn(None)
                self._turns += 1
                self._turn = _OpenTurn(self._turns, prompt)
            if isinstance(message, ModelResponse):
                self._requests += 1
                self._used += message.usage
                self._totals = evolve(self._totals, answered=ordinal + 1)
                self._point(self._occupancy(message))
            if self._turn is not None:
                self._turn.answered = isinstance(message, ModelResponse) and not message.tool_calls
            seen = message_seen(message, ordinal, entry.at, self._estimator)
            for part in seen.parts:
                if part.failed:
                    self._failures.add(
                        f"message {ordinal}, {part.tool or part.kind}: {part.excerpt[:_FAILURE_CHARACTERS]}"
                    )
            self._step(seen)
            shares = shares_of(message, self._estimator)
            self._shares.update(shares)
            self._live.append(_Live(ordinal, shares))
            self._weight += sum(shares.values())
        self._messages = entry.ordinal + len(entry.messages)

    def _occupancy(self, response: ModelResponse) -> Tokens:
        counted = context_input(response)
        return Tokens.measured(counted) if counted else Tokens.estimated(self._weight)

    def _compact(self, entry: CompactionEntry) -> None:
        record = entry.record
        self._compacted += 1
        kept = {ordinal for ordinal in record.tail_ordinals if ordinal is not None}
        before = self._live
        self._live = [_Live(None, shares_of(entry.summary, self._estimator))]
        self._live += [
            _Live(ordinal, shares_of(message, self._estimator))
            for ordinal, message in zip(record.tail_ordinals, entry.tail, strict=True)
        ]
        after = _sum(self._live)
        self._weight = sum(after.values())
        compaction = Compaction(
            number=self._compacted,
            record=record,
            dropped=_ranges(each.ordinal for each in before if each.ordinal is not None and each.ordinal not in kept),
            before=_sum(before),
            after=after,
            summary=summary_of(entry.summary),
            carried=carried_seen(entry.summary),
        )
        self._checkpoints.append(_Checkpoint(record.compaction_id, compaction.number, tuple(before), len(self._live)))
        self._compactions.add(compaction)
        self._marks.add(Marked(self._requests, "compaction", compaction.number))
        self._point(record.before)
        self._point(record.after)
        self._step(compaction)
        self._messages, self._totals = record.next_ordinal, record.totals

    def _undo(self, compaction_id: CompactionId) -> None:
        """As `log/replay.py`: that checkpoint and all after it; nothing if it is not in force."""
        if compaction_id not in [each.compaction_id for each in self._checkpoints]:
            self._marks.add(Marked(self._requests, "undo", None))
            return
        while True:
            checkpoint = self._checkpoints.pop()
            self._live = [*checkpoint.before, *self._live[checkpoint.length :]]
            self._undone.add(checkpoint.compaction_id)
            if checkpoint.compaction_id == compaction_id:
                break
        self._weight = sum(_sum(self._live).values())
        self._marks.add(Marked(self._requests, "undo", checkpoint.number))
        self._point(Tokens.estimated(self._weight))

    def _point(self, tokens: Tokens) -> None:
        """One more; of too many, of every two neighbours the higher one stays."""
        self._points.append(Point(self._requests, Tokens(min(tokens.count, _GREATEST_COUNT), tokens.basis)))
        if len(self._points) > _MOST_POINTS:
            pairs = zip(self._points[::2], self._points[1::2], strict=False)
            odd = self._points[-1:] if len(self._points) % 2 else []
            self._points = [*(max(pair, key=lambda point: point.tokens.count) for pair in pairs), *odd]

    def _damaged(self, damage: Damage) -> None:
        self._damage.add(damage)
        self._step(damage)

    def _step(self, step: Step) -> None:
        if self._turn is None:
            self._timeline.add(step)
        else:
            self._turn.steps.add(step)

    def _close_turn(self, end: TurnEntry | None) -> None:
        if self._turn is None:
            return
        turn = self._turn.closed(end)
        self._interrupted += turn.interrupted
        self._timeline.add(turn)
        self._turn = None


def _sum(live: Iterable[_Live]) -> Mapping[Any, int]:
    total: Counter[Any] = Counter()
    for each in live:
        total.update(each.shares)
    return dict(total)


def _ranges(ordinals: Iterable[int]) -> tuple[OrdinalRange, ...]:
    ranges: list[OrdinalRange] = []
    for ordinal in ordinals:
        if ranges and ranges[-1].last + 1 == ordinal:
            ranges[-1] = OrdinalRange(ranges[-1].first, ordinal)
        else:
            ranges.append(OrdinalRange(ordinal, ordinal))
    return tuple(ranges)
