"""One session: single flight over one history (DESIGN §4, §5).

Thin on purpose: a turn is `turn.py`'s, room is made by `compactor.py`, the log is `history.py`'s, the gauge is
`meter.py`'s. What stands here is what ties them: who may run when, and in which order things are said.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from attrs import define, field
from pydantic_ai.messages import ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import ModelRequestParameters

from agent_ls.cancellation import CancelAbsorbed, cancel_once
from agent_ls.client import Client
from agent_ls.compaction.occupancy import Measure
from agent_ls.compaction.round_room import room_for_answer, room_for_results
from agent_ls.compaction.summary import is_summary
from agent_ls.compactor import Compactor
from agent_ls.errors import AgentError, SessionBusy
from agent_ls.history import History
from agent_ls.meter import Meter
from agent_ls.prompt_content import user_content
from agent_ls.protocol import (
    AgentMessageChunk,
    AvailableCommandsUpdate,
    CompactionEvent,
    CompactResult,
    ContentBlock,
    ContextResult,
    Gauge,
    PromptResult,
    SessionId,
    SessionOpened,
    SessionState,
    SessionUpdate,
    TextContent,
    TurnId,
    TurnUsage,
    UndoResult,
    UpdateNotification,
)
from agent_ls.settings import LiveSettings
from agent_ls.slash_commands import AVAILABLE
from agent_ls.turn import Turn, TurnOutcome
from agent_ls.turn_setup import TurnSetup
from agent_ls.updates import ToolCallIds, updates_of_history, user_updates

logger = logging.getLogger(__name__)

_NO_USAGE = TurnUsage(input_tokens=0, output_tokens=0, cache_read_tokens=0, requests=0)
_CANCELLED = TurnOutcome("cancelled", "", _NO_USAGE)


@define(eq=False)
class Session:
    """A conversation in one workspace folder. Belongs to one event loop."""

    workspace: Path
    history: History
    client: Client
    setup: TurnSetup
    compactor: Compactor
    meter: Meter
    _ids: ToolCallIds
    _lock: asyncio.Lock = field(init=False, factory=asyncio.Lock)
    _task: asyncio.Task[object] | None = field(init=False, default=None)
    _flights: int = field(init=False, default=0)
    _ended: bool = field(init=False, default=False)
    _turn: Turn | None = field(init=False, default=None)
    _turn_id: TurnId = field(init=False, default=TurnId(""))

    @classmethod
    def open(
        cls, workspace: Path, history: History, client: Client, settings: LiveSettings, directory: Path
    ) -> Session:
        """The session of a history. `directory` is where the workspace's own files are (`.agent_ls`)."""
        ids = ToolCallIds()
        session: Session
        setup = TurnSetup.of_session(
            workspace,
            history,
            client,
            settings,
            directory,
            ids=ids,
            window=lambda: session.compactor.levels().window,
            room=lambda: session.room_for_results(),
            weigh=lambda text: session.compactor.measure.estimator.text(text),
            announce=lambda update: session.on_update(update),
        )
        compactor = Compactor(
            history=history,
            measure=Measure(),
            settings=lambda: settings.current,
            window=setup.window,
            summarizer=setup.summarizer,
            on_event=lambda event: session.on_compaction(event),
            warn=lambda identifier, message: session.on_warning(identifier, message),
        )
        if history.messages:
            compactor.measure.resumed(history.messages, history.first_after_checkpoint)
        meter = Meter(compactor, workspace, setup)
        session = cls(workspace, history, client, setup, compactor, meter, ids)
        if history.messages:
            compactor.after_resume()
        return session

    @property
    def session_id(self) -> SessionId:
        """The session's id."""
        return self.history.session_id

    @property
    def is_busy(self) -> bool:
        """Whether a turn or a compaction runs, or waits to."""
        return self._flights > 0

    async def prompt(self, prompt: str | Sequence[ContentBlock], *, queue: bool = False) -> PromptResult:
        """Run a turn. Being cancelled is a result (`stop_reason` "cancelled").

        Raises SessionBusy unless `queue`, and AgentError for what ends a turn for good.
        """
        turn_id = _new_turn_id()
        outcome = _CANCELLED  # while it waited for its turn or before the prompt was taken: nothing was said
        try:
            with CancelAbsorbed():
                async with self._flight("running", queue=queue):
                    self._turn_id = turn_id
                    outcome = await self._run_turn(prompt, turn_id)
        finally:
            gauge = self.publish_gauge()
        return self._result(turn_id, outcome, gauge)

    def cancelled(self) -> PromptResult:
        """The result of a prompt that was cancelled before it got here, or of a command that was."""
        return self._result(_new_turn_id(), _CANCELLED, self.meter.gauge())

    async def compact(self, focus: str | None) -> CompactResult:
        """Full compaction by hand (CASCADE §7): idle only, otherwise the outcome is `busy`. Cancelling raises."""
        if self.is_busy:
            used = self.compactor.used
            message = "A turn is running: compact when it has ended, or cancel it first."
            return CompactResult(self.session_id, "busy", message, used, None, self.meter.gauge())
        try:
            async with self._flight("compacting", queue=False):
                report = await self.compactor.by_hand(focus)
        finally:
            # A cancelled or failed one is over too: a client must not go on saying "compacting".
            gauge = self.publish_gauge()
        return CompactResult(
            session_id=self.session_id,
            outcome=report.outcome,
            message=report.message,
            before=report.before,
            after=report.after,
            gauge=gauge,
            reason=report.reason,
            summary=report.summary,
        )

    async def undo_compaction(self) -> UndoResult:
        """Back to the history before the last checkpoint (CASCADE §13). Raises SessionBusy, LogUnwritable."""
        try:
            async with self._flight("compacting", queue=False):
                undone, message = self.compactor.undo()
        finally:
            gauge = self.publish_gauge()
        return UndoResult(self.session_id, undone, message, gauge)

    def reply(self, prompt: str, text: str) -> PromptResult:
        """The answer to a command: shown like a turn's, told to no model and kept in no history."""
        turn_id = self._turn_id = _new_turn_id()
        for chunk in user_updates(prompt):
            self.on_update(chunk)
        self.on_update(AgentMessageChunk(TextContent(text)))
        return self._result(turn_id, TurnOutcome("end_turn", text, _NO_USAGE), self.meter.gauge())

    def steer(self, text: str) -> bool:
        """Add a user message to the running turn's next request; False when no turn runs."""
        return self._turn is not None and self._turn.steer(text)

    def cancel(self) -> None:
        """Stop what runs, if anything does."""
        if self._task is not None:
            cancel_once(self._task)

    async def stop(self) -> None:
        """Cancel what runs and what waits to, for good; return when nothing runs any more."""
        self._ended = True
        self.cancel()
        async with self._lock:  # behind all that wait
            pass

    def context(self) -> ContextResult:
        """What fills the window."""
        return self.meter.context(self.setup.workspace_instructions())

    def opened(self) -> SessionOpened:
        """What a client that takes this session up is told; sends the commands it knows."""
        self.on_update(AvailableCommandsUpdate(AVAILABLE))
        shown = [original.message for original in self.history.originals()]
        return SessionOpened(self.session_id, updates_of_history(shown, is_summary), self.publish_gauge())

    def end(self) -> None:
        """Nothing more runs here: kill what its commands left running."""
        self._ended = True
        self.setup.tools.kill_children()

    async def aclose(self) -> None:
        """Close the connections of a session that has ended, and let go of its messages."""
        try:
            await self.setup.aclose()
        finally:
            self.history.release()

    # --- what a turn tells (turn.TurnListener) -----------------------------------------------------------------------

    def on_update(self, update: SessionUpdate) -> None:
        """Something a person sees. The outbox numbers it."""
        self.client.update(UpdateNotification(self.session_id, self._turn_id, 0, update))

    def on_request(self, parameters: ModelRequestParameters) -> None:
        """What every request carries besides the messages."""
        self.meter.carries(parameters)

    def on_response(self, response: ModelResponse) -> None:
        """The gauge follows every response, from that response's own usage (CASCADE §1, §8)."""
        self.meter.responded(response)
        self.publish_gauge()

    def on_compaction(self, event: CompactionEvent) -> None:
        """A tier started or ended: the gauge comes right after (PROTOCOL "Guarantees")."""
        self.meter.compacted(event)
        self.client.compaction(event)
        if event.status != "started":
            self.publish_gauge()

    def on_warning(self, identifier: str, message: str | None) -> None:
        """Something to say in the gauge; what is new is logged to the client too."""
        if self.meter.warn(identifier, message) and message is not None:
            self.client.log("warning", message)

    def on_retry(self, reason: str | None) -> None:
        """A transient error shows in the gauge until the next response."""
        if self.meter.warn("retrying", reason):
            self.publish_gauge()

    def room_for_results(self) -> int:
        """Tokens the results of the round that runs may take together."""
        messages = self.history.messages
        start = self._turn.start if self._turn is not None else len(messages) - 1
        compactor = self.compactor
        return room_for_results(messages, start, compactor.levels(), compactor.budgets(), compactor.measure.estimator)

    def publish_gauge(self) -> Gauge:
        """Send the gauge as it is now."""
        gauge = self.meter.gauge()
        self.client.gauge(gauge)
        return gauge

    # --- single flight --------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _flight(self, state: SessionState, *, queue: bool) -> AsyncIterator[None]:
        if self.is_busy and not queue:
            raise SessionBusy(
                "A turn is running in this session.",
                hint="Wait for it, cancel it, steer it, or send the prompt with whenBusy=queue.",
                session_id=self.session_id,
            )
        self._flights += 1
        try:
            async with self._lock:
                if self._ended:
                    raise asyncio.CancelledError("the session has ended")
                self._task = asyncio.current_task()
                self.meter.state = state
                self.on_warning("settings", self.setup.reread_settings())
                self.publish_gauge()
                try:
                    yield
                finally:
                    self.meter.state = "idle"
                    self._task = None
        finally:
            self._flights -= 1

    async def _run_turn(self, prompt: str | Sequence[ContentBlock], turn_id: TurnId) -> TurnOutcome:
        content = user_content(prompt, self.workspace)
        model = await self.setup.model()
        self.meter.take_turn_cost()  # of a turn that a bug ended
        self.on_warning("declared-window", self.setup.window_warning())
        for update in user_updates(content):
            self.on_update(update)
        self.history.append(ModelRequest(parts=[UserPromptPart(content)]))
        self._turn = turn = Turn(
            history=self.history,
            cascade=self.compactor,
            listener=self,
            model=model,
            capabilities=self.setup.capabilities(model),
            instructions=lambda: self.setup.instructions(model),
            room_for_answer=lambda: room_for_answer(self.compactor.projected, self.compactor.levels()),
            max_requests=self.setup.settings.max_requests_per_turn,
            ids=self._ids,
        )
        try:
            outcome = await turn.run()
        except AgentError as error:
            with CancelAbsorbed():
                cost = self.meter.take_turn_cost()
                await self.history.record_turn(turn_id, "end_turn", turn.usage(), cost, error.message)
            raise
        finally:
            self._turn = None
        with CancelAbsorbed():  # the answer is complete: what a cancel gives up is the compaction after it
            cost = self.meter.take_turn_cost()
            await self.history.record_turn(turn_id, outcome.stop_reason, outcome.usage, cost)
            if outcome.stop_reason != "cancelled":
                await self.compactor.at_turn_end()
        return outcome

    def _result(self, turn_id: TurnId, outcome: TurnOutcome, gauge: Gauge) -> PromptResult:
        return PromptResult(self.session_id, turn_id, outcome.stop_reason, outcome.text, outcome.usage, gauge)


def _new_turn_id() -> TurnId:
    return TurnId(secrets.token_hex(8))
