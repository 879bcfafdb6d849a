"""History, log and persisted count move together: any sequence of changes, failures, kills and resumes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pydantic_ai.messages import ModelMessage, ModelRequest

from agent_ls.errors import LogUnwritable
from agent_ls.history import Checkpoint, History
from agent_ls.log.dangling import INTERRUPTED, close_dangling_calls, is_tool_result
from agent_ls.log.replay import replay, replay_forwards
from agent_ls.protocol import CompactionId, TurnId, TurnUsage
from agent_ls.tokens import Tokens

from .disk.faulty_files import Fault, FaultyFiles
from .log.strategies import answer, calls, dump, prompt, results
from .persisted import persisted


def answers(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(map(is_tool_result, message.parts))


class Lockstep(RuleBasedStateMachine):
    """A history beside a plain model of it: `live` is what the model should see, `logged` what a replay starts from.

    `logged` leaves the made-up "interrupted" results out, which a replay makes up again; `undone` holds, for each
    checkpoint in force, what was logged before it and how many messages it put in its place.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.files = FaultyFiles(merciful=True)
        self.number = 0
        self.open_calls: tuple[str, ...] = ()
        self.live: list[ModelMessage] = []
        self.logged: list[ModelMessage] = []
        self.checkpoints: list[tuple[list[ModelMessage], int]] = []
        self.everything: list[ModelMessage] = []

    @initialize()
    def begin(self) -> None:
        self.history = History.create(Path(self.folder.name), files=self.files)

    # --- what a session does ---

    def say(self, *messages: ModelMessage, durable: bool) -> None:
        if durable:
            asyncio.run(self.history.append_durably(*messages))
        else:
            self.history.append(*messages)
        self.live += messages
        self.logged += messages
        self.everything += messages

    @precondition(lambda self: not self.open_calls)
    @rule(durable=st.booleans(), surrogate=st.booleans())
    def prompt_and_answer(self, durable: bool, surrogate: bool) -> None:
        self.number += 1
        text = f"{self.number}" + "\udcff\u2028" * surrogate
        self.say(prompt(text), answer(text, self.number), durable=durable)

    @precondition(lambda self: not self.open_calls)
    @rule(ids=st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=3))
    def call(self, ids: list[str]) -> None:
        self.say(calls(*ids), durable=True)
        self.open_calls = tuple(ids)

    @precondition(lambda self: self.open_calls)
    @rule(data=st.data())
    def return_results(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, len(self.open_calls)))
        self.number += 1
        self.say(results(*self.open_calls[:count], content=f"bytes {self.number}"), durable=False)
        self.open_calls = self.open_calls[count:]

    @rule()
    def cancel(self) -> None:
        self.history.close_dangling_calls()
        self.live = close_dangling_calls(self.live)
        self.open_calls = ()

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def elide(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sets(st.integers(0, len(self.live) - 1), max_size=4))
        self.history.elide(
            [
                ModelRequest(
                    parts=[
                        replace(part, content="[elided]") if hasattr(part, "content") else part  # type: ignore[arg-type]
                        for part in message.parts
                    ]
                )
                if index in chosen and isinstance(message, ModelRequest)
                else message
                for index, message in enumerate(self.history.messages)
            ]
        )

    @precondition(lambda self: self.live and not self.open_calls)
    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        cuts = [index for index, each in enumerate(self.live) if index and not answers(each)]
        start = data.draw(st.sampled_from([*cuts, len(self.live)]))
        self.number += 1
        summary = prompt(f"summary {self.number}")
        checkpoint = Checkpoint(
            CompactionId(f"c{self.number}"), summary, start, "manual", Tokens.measured(2), Tokens.estimated(1)
        )
        before = self.history.messages
        try:
            self.history.compact(checkpoint)
        except LogUnwritable:
            assert self.history.messages is before
            return
        self.live = [summary, *self.live[start:]]
        self.checkpoints.append((self.logged, len(self.live)))
        self.logged = [*self.live]
        assert self.history.first_after_checkpoint == len(self.live)

    @precondition(lambda self: not self.open_calls)
    @rule()
    def undo(self) -> None:
        before = self.history.messages
        try:
            undone = self.history.undo_compaction()
        except LogUnwritable:
            assert self.history.messages is before
            return
        assert (undone is not None) == bool(self.checkpoints)
        if undone is not None:
            logged, length = self.checkpoints.pop()
            self.logged = [*logged, *self.logged[length:]]
            self.live = close_dangling_calls(self.logged)

    @rule()
    def record_turn(self) -> None:
        asyncio.run(self.history.record_turn(TurnId("t"), "end_turn", TurnUsage(1, 1, 0, 1), 0.5))

    @rule()
    def record_memory(self) -> None:
        self.history.record_memory(None)
        assert not self.history.write_back_pending

    # --- what happens to it ---

    @rule(fault=st.sampled_from(["fails", "fails after half"]), once=st.booleans(), after=st.integers(0, 3))
    def disk_is_full(self, fault: Fault, once: bool, after: int) -> None:
        self.files.fault = fault
        first = self.files.count + after
        self.files.steps = {first} if once else range(first, first + 10_000)

    @rule()
    def disk_has_room(self) -> None:
        self.files.steps = range(0)

    @rule()
    def close_and_resume(self) -> None:
        self.files.steps = range(0)
        self.history.close()
        self.resume()

    @rule()
    def die_and_resume(self) -> None:
        unwritten = len(self.history.messages) - persisted(self.history)
        lost = [each for each in self.live[len(self.live) - unwritten :] if not self.is_made_up(each)]
        for messages in (self.live, self.logged, self.everything):
            del messages[len(messages) - (unwritten if messages is self.live else len(lost)) :]
        self.release_lock()
        self.resume()

    def resume(self) -> None:
        if not self.history.path.exists():
            assert self.everything == []
            self.history = History.create(Path(self.folder.name), files=self.files)
        else:
            self.files = FaultyFiles(merciful=True)
            self.history = History.resume(self.history.path, files=self.files)
        self.live = close_dangling_calls(self.logged)
        self.open_calls = ()

    def release_lock(self) -> None:
        """As the system does for a dead process, and nothing else."""
        log = self.history._journal._log
        if log is not None:
            log._lock.release()

    @staticmethod
    def is_made_up(message: ModelMessage) -> bool:
        return any(getattr(part, "content", None) == INTERRUPTED for part in message.parts)

    # --- what always holds ---

    @invariant()
    def memory_is_what_was_said(self) -> None:
        assert len(self.history.messages) == len(self.live)
        originals = [self.history.original(index) for index in range(len(self.live))]
        assert dump(originals) == dump(self.live)

    @invariant()
    def disk_is_the_persisted_part_of_memory(self) -> None:
        assert 0 <= persisted(self.history) <= len(self.live)
        if self.history.unsaved_reason is None and self.everything:
            assert persisted(self.history) == len(self.live)
        if not self.history.path.exists():
            assert persisted(self.history) == 0
            return
        told = replay(self.history.path)
        saved = self.live[: persisted(self.history)]
        assert dump(each.message for each in told.live) == dump(close_dangling_calls(saved))
        if persisted(self.history) == len(self.live) and not self.open_calls:
            assert told.first_after_checkpoint == self.history.first_after_checkpoint
            assert told.checkpoint == self.history.last_compaction
        assert told == replay_forwards(self.history.path)

    @invariant()
    def nothing_ever_said_is_lost(self) -> None:
        said = list(self.history.originals())
        assert dump(each.message for each in said) == dump(self.everything)
        assert [each.ordinal for each in said] == list(range(len(said)))

    def teardown(self) -> None:
        if hasattr(self, "history"):
            self.release_lock()
        self.folder.cleanup()


TestLockstep = Lockstep.TestCase
TestLockstep.settings = settings(max_examples=60, stateful_step_count=25)
