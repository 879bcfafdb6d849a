"""A session's history: the live messages, their log and how much of them is on disk, moved together.

One method applies a change to all three or to none (DESIGN §4). Memory is never behind the log: a message that could
not be written stays live and is written with the next change; until then `unsaved_reason` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from attrs import evolve, frozen
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from agent_ls import __version__
from agent_ls.disk.files import Files
from agent_ls.disk.off_loop import off_loop
from agent_ls.errors import LogUnwritable
from agent_ls.log.codec import BadLine, decode
from agent_ls.log.directory import session_directory
from agent_ls.log.entries import (
    FORMAT_VERSION,
    CompactionEntry,
    CompactionRecord,
    Header,
    MemoryEntry,
    MessagesEntry,
    Ordinal,
    Totals,
    TurnEntry,
    UndoEntry,
    Unreadable,
    now,
)
from agent_ls.log.journal import Journal, Written
from agent_ls.log.names import log_name, new_session_id, own_header
from agent_ls.log.replay import (
    LiveMessage,
    Original,
    Place,
    Replayed,
    Undo,
    originals,
    originals_of,
    replay,
    with_dangling_calls_closed,
)
from agent_ls.log.title import title_of
from agent_ls.log.writer import unreadable
from agent_ls.protocol import CompactionId, SessionId, StopReason, Trigger, TurnId, TurnUsage
from agent_ls.tokens import Tokens


@frozen
class Checkpoint:
    """A full compaction to commit: the history becomes [summary, *messages[tail_start:]] (CASCADE §6).

    `before` and `after` come from the same measure; `cost` is the summary call's in USD, None if unknown.
    """

    compaction_id: CompactionId
    summary: ModelRequest
    tail_start: int
    trigger: Trigger
    before: Tokens
    after: Tokens
    cost: float | None = None


class History:
    """The messages of one session. Not thread-safe: it belongs to one event loop.

    `messages` is an immutable snapshot: what the model will see. Instructions are stripped from requests, as they
    are made anew for every run and would be repeated in each line of the log.
    """

    def __init__(self, header: Header, journal: Journal) -> None:
        """Use `create` or `resume`."""
        self.header = header
        self._journal = journal
        self._live: list[LiveMessage] = []
        self._snapshot: tuple[ModelMessage, ...] = ()
        self._since_snapshot: list[ModelMessage] = []
        self._first_after_checkpoint = 0
        self._checkpoint: CompactionRecord | None = None
        self._next_ordinal = Ordinal(0)
        self._totals = Totals()

    @classmethod
    def create(
        cls,
        workspace: Path,
        session_id: SessionId | None = None,
        *,
        directory: Path | None = None,
        files: Files | None = None,
    ) -> History:
        """A new, empty session. Its log is made with the first entry, so a session without a word leaves no file.

        `directory` is where the log goes, `session_directory(workspace).sessions` if not given. Raises
        LogUnwritable if there is no such place at all.
        """
        header = Header(
            version=FORMAT_VERSION,
            session_id=session_id or new_session_id(),
            workspace=str(workspace),
            created=now(),
            agent_ls=__version__,
        )
        sessions = directory or session_directory(workspace).sessions
        return cls(header, Journal.create(sessions / log_name(header.created, header.session_id), header, files))

    @classmethod
    def resume(cls, path: Path, *, files: Files | None = None) -> History:
        """The session of the log at `path`, every tool call answered, ready to go on.

        Raises SessionNotFound, SessionLocked, and LogUnwritable if the log cannot even be read. A log that can only
        be read is resumed unsaved.
        """
        journal = Journal.open(path, files)
        try:
            replayed = replay(path)
        except OSError as error:
            journal.close()
            raise unreadable(path, error) from error
        history = cls(own_header(path, replayed.header), journal)
        journal.length = replayed.length
        history._adopt(replayed)
        if replayed.length == 0:
            journal.add(history.header)
        return history

    # --- what is there ------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """The log's file; there is none before the first entry."""
        return self._journal.path

    @property
    def session_id(self) -> SessionId:
        """The session's id."""
        return self.header.session_id

    @property
    def messages(self) -> Sequence[ModelMessage]:
        """What the model will see, in order; a snapshot that never changes."""
        if self._since_snapshot:
            self._snapshot = (*self._snapshot, *self._since_snapshot)
            self._since_snapshot = []
        return self._snapshot

    @property
    def unsaved_reason(self) -> str | None:
        """Why the log could not be written, in words; None while everything is saved."""
        return self._journal.unsaved_reason

    @property
    def first_after_checkpoint(self) -> int:
        """Index of the first live message whose usage tells the occupancy (CASCADE §1); 0 without a checkpoint."""
        return self._first_after_checkpoint

    @property
    def last_compaction(self) -> CompactionRecord | None:
        """The checkpoint in force, None if there is none or all are undone."""
        return self._checkpoint

    @property
    def totals(self) -> Totals:
        """The session's sums so far."""
        return self._totals

    @property
    def anything_elided(self) -> bool:
        """Whether a live message is blanked."""
        return any(each.elided for each in self._live)

    @property
    def write_back_pending(self) -> bool:
        """Whether the model has answered since the last memory write-back."""
        return self._totals.answered > self._totals.remembered

    def ordinal(self, index: int) -> Ordinal | None:
        """The session-wide number of the live message at `index`; None for a summary or a made-up result."""
        return self._live[index].ordinal

    def original(self, index: int) -> ModelMessage:
        """The live message at `index` in full, read from the log if it was blanked. Raises LogUnwritable."""
        live = self._live[index]
        if not live.elided or live.place is None:
            return live.message
        return self._read(live.place)

    def originals(self) -> Iterator[Original]:
        """Everything ever said, in full and in order, blanked and compacted messages too. Raises LogUnwritable."""
        if not self.path.exists():
            self._place(self._journal.flush(durable=True))
        waiting = self._journal.waiting  # before the file is read: what is written meanwhile is in both
        known = -1
        try:
            if self._journal.length:
                for original in originals(self.path):
                    known = original.ordinal
                    yield original
        except OSError as error:
            raise unreadable(self.path, error) from error
        for entry in waiting:
            yield from (original for original in originals_of(entry) if original.ordinal > known)

    # --- changes ------------------------------------------------------------------------------------------------

    def append(self, *messages: ModelMessage) -> None:
        """Add messages, as one line of the log.

        Never raises: messages that cannot be written stay live, and `unsaved_reason` tells.
        """
        self._place(self._journal.add(self._said(messages)) if messages else self._journal.flush())

    async def append_durably(self, *messages: ModelMessage) -> None:
        """As `append`; returns when they are on the disk. Until then nothing else may change the history."""
        if messages:
            self._journal.queue(self._said(messages))
        await self._saved()

    def _said(self, messages: Sequence[ModelMessage]) -> MessagesEntry:
        """Take messages into the live history; their line."""
        stripped = tuple(_without_instructions(message) for message in messages)
        first = self._next_ordinal
        new = [LiveMessage(message, Ordinal(ordinal), None) for ordinal, message in enumerate(stripped, first)]
        self._live += new
        self._since_snapshot += stripped
        self._next_ordinal = Ordinal(first + len(new))
        for ordinal, message in enumerate(stripped, first):
            if isinstance(message, ModelResponse):
                self._totals = evolve(self._totals, answered=ordinal + 1)
        return MessagesEntry(now(), first, stripped, title_of(stripped) if first == 0 else None)

    def close_dangling_calls(self) -> None:
        """Answer every tool call that has no result with an "interrupted" one (after a cancel or an error).

        Only in memory: a resume makes up the same results at the same places.
        """
        live, first = with_dangling_calls_closed(self._live, self._first_after_checkpoint)
        self._show(live, first)

    def elide(self, messages: Sequence[ModelMessage]) -> int:
        """Take over a microcompaction: `messages` are the live ones, some of them blanked. Returns how many changed.

        Memory only; the originals leave it. A message that the log does not hold stays as it is. Raises ValueError
        if the number of messages differs.
        """
        live = [
            before
            if before.message is message or before.place is None
            else evolve(before, message=message, elided=True)
            for before, message in zip(self._live, messages, strict=True)
        ]
        changed = sum(new is not old for new, old in zip(live, self._live, strict=True))
        self._show(live, self._first_after_checkpoint)
        return changed

    def compact(self, checkpoint: Checkpoint) -> CompactionRecord:
        """Replace what is before the tail by the summary: log line on disk, then the history.

        Raises LogUnwritable, and then nothing has changed; ValueError if the tail begins outside the history.
        """
        start = checkpoint.tail_start
        if not 0 < start <= len(self._live):
            raise ValueError(f"a tail of {len(self._live)} messages cannot begin at {start}")
        self._place(self._journal.flush())
        record = CompactionRecord(
            at=now(),
            compaction_id=checkpoint.compaction_id,
            trigger=checkpoint.trigger,
            before=checkpoint.before,
            after=checkpoint.after,
            covers=start,
            tail_ordinals=tuple(each.ordinal for each in self._live[start:]),
            next_ordinal=self._next_ordinal,
            totals=self._totals.with_cost(checkpoint.cost),
            cost=checkpoint.cost,
        )
        # The log keeps full fidelity: a blanked tail message goes into the line as it was said.
        tail = tuple(self.original(index) for index in range(start, len(self._live)))
        span = self._journal.commit(CompactionEntry(record, checkpoint.summary, tail))
        summary = LiveMessage(checkpoint.summary, None, Place(span, 0))
        live = [summary, *self._live[start:]]
        self._checkpoint, self._totals = record, record.totals
        self._show(live, len(live))
        return record

    def prepare_undo(self) -> Undo | None:
        """What `undo_compaction` would do; None if there is nothing to undo. Raises LogUnwritable."""
        if self._checkpoint is None:
            return None
        self._place(self._journal.flush(durable=True))
        entry = UndoEntry(now(), self._checkpoint.compaction_id)
        try:
            return Undo(self._checkpoint, entry, replay(self.path, then=[entry]))
        except OSError as error:
            raise unreadable(self.path, error) from error

    def undo_compaction(self, prepared: Undo | None = None) -> CompactionRecord | None:
        """Back to the history before the last checkpoint plus what came after (CASCADE §13); one log line.

        Returns the checkpoint that is undone, None if there is none. Raises LogUnwritable; then nothing changed.
        """
        undo = prepared or self.prepare_undo()
        if undo is None:
            return None
        self._journal.commit(undo.entry)
        self._adopt(undo.replayed)
        return undo.checkpoint

    async def record_turn(
        self,
        turn_id: TurnId,
        stop_reason: StopReason,
        usage: TurnUsage,
        cost: float | None = None,
        error: str | None = None,
    ) -> None:
        """As `append_durably`: a turn ended. `cost` is its USD without compactions, None if unknown."""
        self._totals = self._totals.with_turn(usage, cost)
        entry = TurnEntry(now(), turn_id, stop_reason, usage, cost, self._next_ordinal, self._totals, error)
        self._journal.queue(entry)
        await self._saved()

    def record_memory(self, sentence: str | None) -> None:
        """Log that the memory write-back is done for all that was said so far, with what was remembered."""
        self._totals = evolve(self._totals, remembered=int(self._next_ordinal))
        self._place(self._journal.add(MemoryEntry(now(), self._next_ordinal, sentence), durable=True))

    def close(self) -> None:
        """Write what waits, sync and let another writer have the log. The history can still be read."""
        self._journal.close()

    def release(self) -> None:
        """Let go of the messages, whoever still holds this history (docs/adr/0008). Nothing may be asked of it then."""
        self._show((), 0)

    async def _saved(self) -> None:
        await off_loop(lambda: self._journal.flush(durable=True), then=self._place)

    # --- the lockstep -------------------------------------------------------------------------------------------

    def _show(self, live: Sequence[LiveMessage], first_after_checkpoint: int) -> None:
        self._live = list(live)
        self._snapshot, self._since_snapshot = tuple(each.message for each in live), []
        self._first_after_checkpoint = first_after_checkpoint

    def _adopt(self, replayed: Replayed) -> None:
        self._checkpoint = replayed.checkpoint
        self._next_ordinal = replayed.next_ordinal
        self._totals = replayed.totals
        self._show(replayed.live, replayed.first_after_checkpoint)

    def _place(self, written: Sequence[Written]) -> None:
        """Note where the messages stand that have just reached the log."""
        places = {
            entry.ordinal + position: Place(line.span, position)
            for line in written
            if isinstance(entry := line.entry, MessagesEntry)
            for position in range(len(entry.messages))
        }
        for index in range(len(self._live) - 1, -1, -1):
            if not places:
                return
            ordinal = self._live[index].ordinal
            if ordinal in places:
                self._live[index] = evolve(self._live[index], place=places.pop(ordinal))

    def _read(self, place: Place) -> ModelMessage:
        try:
            entry = decode(self._journal.read(place.span))
        except BadLine as bad:
            raise LogUnwritable(f"The session log was damaged while the session is open: {bad} ({self.path})") from bad
        messages: Sequence[ModelMessage | Unreadable] = ()
        if isinstance(entry, MessagesEntry):
            messages = entry.messages
        elif isinstance(entry, CompactionEntry):
            messages = [entry.summary, *entry.tail]
        message = messages[place.position] if place.position < len(messages) else Unreadable("it is not there")
        if isinstance(message, Unreadable):
            raise LogUnwritable(f"A message cannot be read from the session log: {message.reason} ({self.path})")
        return message


def _without_instructions(message: ModelMessage) -> ModelMessage:
    if isinstance(message, ModelRequest) and message.instructions is not None:
        return replace(message, instructions=None)
    return message
