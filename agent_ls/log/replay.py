"""Rebuilds a session from its log (DESIGN §4): what was live when the last complete line was written.

The log is read from its end to the last good checkpoint and replayed from there, so that resuming costs what is live.
A bad line is skipped with one warning; a malformed checkpoint is a bad line, so the history stays un-compacted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from attrs import define, evolve, field, frozen
from pydantic_ai.messages import ModelMessage, ModelResponse

from agent_ls.garbage import collector_paused
from agent_ls.log.codec import BadLine, decode, salvage
from agent_ls.log.dangling import pair_up
from agent_ls.log.entries import (
    FORMAT_VERSION,
    CompactionEntry,
    CompactionRecord,
    Header,
    LogEntry,
    MemoryEntry,
    MessagesEntry,
    Ordinal,
    Totals,
    TurnEntry,
    UndoEntry,
    UnknownEntry,
    Unreadable,
)
from agent_ls.log.lines import Line, Span, backwards, forwards
from agent_ls.protocol import CompactionId

_logger = logging.getLogger(__name__)

_FIRST: Final = Ordinal(0)


class Place(NamedTuple):
    """Where a message can be read again: `position` counts the messages of the line `span`, from 0."""

    span: Span
    position: int


@frozen
class LiveMessage:
    """A message the model will see. `elided`: parts of it were blanked, the log at `place` has the full one.

    The ordinal is None for a summary and for an "interrupted" result made up on load; the place is None for the
    latter and for a message that is not written yet.
    """

    message: ModelMessage
    ordinal: Ordinal | None
    place: Place | None
    elided: bool = False


@frozen
class Replayed:
    """A session as its log tells it.

    `live` is what the model will see, every tool call answered. `first_after_checkpoint` is the index of the first
    live message whose usage counts (CASCADE §1). `checkpoint` is the last one in force, None if there is none or
    all are undone. `length` is the bytes of all complete lines.
    """

    header: Header | None
    live: tuple[LiveMessage, ...]
    first_after_checkpoint: int
    checkpoint: CompactionRecord | None
    next_ordinal: Ordinal
    totals: Totals
    warnings: tuple[str, ...]
    length: int


@frozen
class Undo:
    """The line that takes a checkpoint back, and the session as it is then; good until the history changes."""

    checkpoint: CompactionRecord
    entry: UndoEntry
    replayed: Replayed

    @property
    def messages(self) -> Sequence[ModelMessage]:
        """The history that comes back."""
        return [each.message for each in self.replayed.live]


@frozen
class Original:
    """A message as it was logged, with its number."""

    ordinal: Ordinal
    message: ModelMessage


def replay(path: Path, *, then: Sequence[UndoEntry] = ()) -> Replayed:
    """The session of the log at `path`, as if the lines `then` stood at its end. Raises OSError."""
    with path.open("rb") as file, collector_paused():
        reader = _Reader(path)
        header = reader.header(file)
        session = _from_last_checkpoint(reader, file, then) or _from_start(reader, file, then)
        reader.report()
        return session.replayed(header, reader)


def replay_forwards(path: Path, *, then: Sequence[UndoEntry] = ()) -> Replayed:
    """As `replay`, reading every line from the first: the definition that `replay` is measured by."""
    with path.open("rb") as file:
        reader = _Reader(path)
        header = reader.header(file)
        session = _from_start(reader, file, then)
        reader.report()
        return session.replayed(header, reader)


def originals(path: Path) -> Iterator[Original]:
    """Every message ever logged, in full fidelity and in order, blanked and compacted ones too. Raises OSError."""
    with path.open("rb") as file:
        reader = _Reader(path)
        for line in forwards(file):
            entry = reader.entry(line)
            if isinstance(entry, MessagesEntry):
                yield from originals_of(entry)


def originals_of(entry: MessagesEntry) -> Iterator[Original]:
    """The messages of one entry, those that can be loaded."""
    for ordinal, message in enumerate(entry.messages, entry.ordinal):
        if not isinstance(message, Unreadable):
            yield Original(Ordinal(ordinal), message)


@define
class _Reader:
    """Decodes lines; each bad one gives one warning, however often it is read."""

    path: Path
    length: int = 0
    """The bytes of the file up to the end of the last line that was read."""
    _warnings: dict[int, str] = field(factory=dict)

    def header(self, file: BinaryIO) -> Header | None:
        line = next(forwards(file), None)
        entry = None if line is None else self.entry(line)
        if line is None or not isinstance(entry, Header):
            return None
        if entry.version > FORMAT_VERSION:
            self._warn(
                line, f"format version {entry.version} is newer than this agent-ls; what it does not know is skipped"
            )
        return entry

    def entry(self, line: Line) -> LogEntry | None:
        end = line.span.offset + len(line.data) + 1
        if end > self.length:
            self.length = end
        if not line.data:
            return None
        entry: LogEntry | None
        try:
            entry = decode(line.data)
        except BadLine as bad:
            entry = salvage(line.data)
            kept = "it is skipped" if entry is None else "only its end is used"
            self._warn(line, f"bad line at byte {line.span.offset}, {kept}: {bad}")
        if isinstance(entry, MessagesEntry):
            for ordinal, message in enumerate(entry.messages, entry.ordinal):
                if isinstance(message, Unreadable):
                    self._warn(line, f"message {ordinal} cannot be loaded and is left out: {message.reason}")
        return entry

    def report(self) -> None:
        for warning in self.warnings:
            _logger.warning("%s: %s", self.path, warning)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(text for _, text in sorted(self._warnings.items()))

    def _warn(self, line: Line, text: str) -> None:
        self._warnings.setdefault(line.span.offset, text)


@frozen
class _Frame:
    """What a checkpoint replaced, to come back if it is undone. `before` is None where the log was not read so far."""

    record: CompactionRecord
    before: tuple[LiveMessage, ...] | None
    first_after_before: int
    length: int


@define
class _Session:
    """The state that the lines of a log add up to, before dangling calls are closed."""

    live: list[LiveMessage] = field(factory=list)
    frames: list[_Frame] = field(factory=list)
    first_after_checkpoint: int = 0
    next_ordinal: Ordinal = _FIRST
    totals: Totals = field(factory=Totals)
    answered: int = 0
    """`totals.answered`, which changes with every response."""
    complete: bool = True
    """False once an undo named a checkpoint that is not among the lines that were read."""

    def begin_at(self, line: Line, entry: CompactionEntry) -> None:
        """Begin at a checkpoint, without the lines before it."""
        self.apply(line, entry)
        self.frames = [evolve(frame, before=None) for frame in self.frames]

    def apply(self, line: Line, entry: LogEntry | None) -> None:
        match entry:
            case MessagesEntry(_, ordinal, messages):
                self._append(line, ordinal, messages)
            case CompactionEntry(record, summary, tail):
                self._compact(line, record, [summary, *tail])
            case UndoEntry(_, compaction_id):
                self.undo(compaction_id)
            case TurnEntry(totals=totals):
                self.totals, self.answered = totals, totals.answered
            case MemoryEntry(_, covers):
                self.totals = evolve(self.totals, remembered=covers)
            case Header() | UnknownEntry() | None:
                pass

    def _append(self, line: Line, first: int, messages: Sequence[ModelMessage | Unreadable]) -> None:
        for position, message in enumerate(messages):
            if isinstance(message, Unreadable):
                continue
            ordinal = Ordinal(first + position)
            self.live.append(LiveMessage(message, ordinal, Place(line.span, position)))
            if isinstance(message, ModelResponse):
                self.answered = ordinal + 1
        self.next_ordinal = Ordinal(first + len(messages))

    def _compact(self, line: Line, record: CompactionRecord, messages: Sequence[ModelMessage]) -> None:
        self.frames.append(_Frame(record, tuple(self.live), self.first_after_checkpoint, len(messages)))
        ordinals = [None, *record.tail_ordinals]
        self.live = [
            LiveMessage(message, None if ordinal is None else Ordinal(ordinal), Place(line.span, position))
            for position, (ordinal, message) in enumerate(zip(ordinals, messages, strict=True))
        ]
        self.first_after_checkpoint = len(self.live)
        self.next_ordinal = Ordinal(record.next_ordinal)
        self.totals, self.answered = record.totals, record.totals.answered

    def undo(self, compaction_id: CompactionId) -> None:
        """Take back that checkpoint and all after it; nothing if it is not in force (its line was bad)."""
        known = [frame.record.compaction_id for frame in self.frames]
        if compaction_id not in known:
            self.complete = False
            return
        while self.frames:
            frame = self.frames.pop()
            if frame.before is None:
                self.complete = False
                return
            after = self.live[frame.length :]
            self.live = [*frame.before, *after]
            # What was answered since was measured on a shorter history: that usage says nothing about this one.
            answered = any(isinstance(each.message, ModelResponse) for each in after)
            self.first_after_checkpoint = len(self.live) if answered else frame.first_after_before
            if frame.record.compaction_id == compaction_id:
                return

    def replayed(self, header: Header | None, reader: _Reader) -> Replayed:
        live, first_after_checkpoint = with_dangling_calls_closed(self.live, self.first_after_checkpoint)
        return Replayed(
            header=header,
            live=live,
            first_after_checkpoint=first_after_checkpoint,
            checkpoint=self.frames[-1].record if self.frames else None,
            next_ordinal=self.next_ordinal,
            totals=evolve(self.totals, answered=self.answered),
            warnings=reader.warnings,
            length=reader.length,
        )


def with_dangling_calls_closed(live: Sequence[LiveMessage], index: int) -> tuple[tuple[LiveMessage, ...], int]:
    """`live` with each tool call answered (`dangling`), and where the message at `index` stands in it."""
    result: list[LiveMessage] = []
    moved: int | None = None
    for paired in pair_up([each.message for each in live]):
        if paired.source is None:
            result.append(LiveMessage(paired.message, None, None))
            continue
        if moved is None and paired.source >= index:
            moved = len(result)
        source = live[paired.source]
        result.append(source if source.message is paired.message else evolve(source, message=paired.message))
    return tuple(result), len(result) if moved is None else moved


def _from_start(reader: _Reader, file: BinaryIO, then: Sequence[UndoEntry]) -> _Session:
    session = _Session()
    for line in forwards(file):
        session.apply(line, reader.entry(line))
    for undo in then:
        session.undo(undo.compaction_id)
    return session


def _from_last_checkpoint(reader: _Reader, file: BinaryIO, then: Sequence[UndoEntry]) -> _Session | None:
    """The session from the last checkpoint that no later line undoes, or from the start if there is none.

    None if an undo after that checkpoint reaches behind it, which only a damaged log can do: then every line counts.
    """
    undone = {undo.compaction_id for undo in then}
    newest_first: list[tuple[Line, LogEntry | None]] = []
    session = _Session()
    for line in backwards(file):
        entry = reader.entry(line)
        if isinstance(entry, UndoEntry):
            undone.add(entry.compaction_id)
        elif isinstance(entry, CompactionEntry):
            if not undone:
                session.begin_at(line, entry)
                break
            undone.discard(entry.record.compaction_id)
        newest_first.append((line, entry))
    for line, entry in reversed(newest_first):
        session.apply(line, entry)
    for undo in then:
        session.undo(undo.compaction_id)
    return session if session.complete else None
