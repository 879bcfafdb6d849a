"""One turn: a prompt until the agent stops (DESIGN §5).

A turn is one or more *legs*. A leg is one pydantic-ai run over the session's history, which already ends in the
request to be sent; `HistoryRecorder` keeps the two in step through the run's own hooks. A leg that fails in a way
the turn can mend (the provider says the context is too long; a transient error) is followed by another over the
mended history; nothing is retried inside a leg (docs/adr/0002-one-history-many-legs.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from attrs import define, field, frozen
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import AgentStreamEvent, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.usage import UsageLimits

from agent_ls.cancellation import CancelAbsorbed
from agent_ls.errors import AgentError
from agent_ls.history import History
from agent_ls.models import ContextOverflow, Fatal, ResolvedModel, Transient, classify, retry_delays, seconds_to_wait
from agent_ls.models.prefixed import PrefixedModel
from agent_ls.protocol import SessionUpdate, StopReason, TurnUsage
from agent_ls.recorder import HistoryRecorder
from agent_ls.updates import ToolCallIds, updates_of_event

logger = logging.getLogger(__name__)

_TOOL_RETRIES: Final = 1_000
"""Bad arguments are answered, never fatal: the request limit bounds a turn, not pydantic-ai's retry budget."""


class Cascade(Protocol):
    """What a turn asks of the compaction cascade. `turn_start` is the index of the turn's prompt in the history."""

    async def before_request(self, turn_start: int) -> int:
        """Make room if the request the history ends in would not fit (CASCADE §9). Returns the new `turn_start`."""

    async def after_overflow(self, turn_start: int, overflow: ContextOverflow) -> int | None:
        """Make the history smaller after a refusal (CASCADE §10): the new `turn_start`, None if nothing was freed."""


class TurnListener(Protocol):
    """Who is told what happens in a turn."""

    def on_update(self, update: SessionUpdate) -> None:
        """Something a person sees."""

    def on_request(self, parameters: ModelRequestParameters) -> None:
        """A request is about to be sent; `parameters` is what it carries besides messages."""

    def on_response(self, response: ModelResponse) -> None:
        """A model response is complete and logged."""

    def on_retry(self, reason: str | None) -> None:
        """A transient error is about to be tried again (a sentence), or the retry went through (None)."""


@frozen
class TurnOutcome:
    """How a turn ended; `text` is the last answer, `usage` the sum over its requests."""

    stop_reason: StopReason
    text: str
    usage: TurnUsage


class _RequestLimitReached(Exception):
    """The turn has made as many requests as it may."""


@define
class Turn:
    """Runs one turn over a history whose last message is the request to answer.

    `room_for_answer` is what the request that is due leaves of the window, in tokens. `start` is the index of the
    turn's prompt in the history, which moves when the history is compacted.
    """

    history: History
    cascade: Cascade
    listener: TurnListener
    model: ResolvedModel
    capabilities: Sequence[AbstractCapability[Any]]
    instructions: Callable[[], str]
    room_for_answer: Callable[[], int]
    max_requests: int
    ids: ToolCallIds
    start: int = field(init=False, default=0)
    _recorder: HistoryRecorder | None = field(init=False, default=None)
    _responses: list[ModelResponse] = field(init=False, factory=list)
    _requests: int = field(init=False, default=0)

    async def run(self) -> TurnOutcome:
        """Run the turn. Being cancelled is an outcome, not an error. Raises AgentError when it fails for good."""
        self.start = len(self.history.messages) - 1
        try:
            with CancelAbsorbed():
                return await self._run_legs()
            return self._outcome("cancelled")
        finally:
            self.history.close_dangling_calls()

    def steer(self, text: str) -> bool:
        """Add a user message to this turn's next request. False if the turn takes no more."""
        return self._recorder is not None and self._recorder.steer(text)

    async def _run_legs(self) -> TurnOutcome:
        delays = retry_delays()
        may_recover = True
        while True:
            try:
                await self._run_leg()
            except _RequestLimitReached:
                return self._outcome("max_turn_requests")
            except AgentError:
                raise
            except Exception as error:  # whatever a provider or its SDK raises is classified here
                self.history.close_dangling_calls()
                match classify(error):
                    case ContextOverflow() as overflow:
                        start = await self.cascade.after_overflow(self.start, overflow) if may_recover else None
                        if start is None:
                            raise overflow.error from error
                        self.start, may_recover = start, False
                    case Transient(error=transient, retry_after=retry_after):
                        delay = next(delays, None)
                        if delay is None:
                            raise transient from error
                        delay = seconds_to_wait(delay, retry_after)
                        logger.warning("trying again in %.1f s after a transient provider error: %s", delay, error)
                        self.listener.on_retry(f"{transient.message} Trying again in {delay:.0f} s.")
                        await asyncio.sleep(delay)
                    case Fatal(error=fatal):
                        if (stop := self._stop_reason()) != "end_turn":
                            return self._outcome(stop)
                        raise fatal from error
            else:
                return self._outcome(self._stop_reason())

    async def _run_leg(self) -> None:
        model = PrefixedModel(self.model.model)
        recorder = HistoryRecorder(
            history=self.history,
            model=model,
            before_request=self._before_request,
            room_for_answer=self.room_for_answer,
            on_response=self._on_response,
            on_stream_event=self._on_event,
        )
        self._recorder = recorder
        agent = Agent(
            model,
            instructions=self.instructions,
            capabilities=[recorder, *self.capabilities],
            retries=_TOOL_RETRIES,
        )
        try:
            await agent.run(
                None,
                message_history=recorder.newest_messages(),
                usage_limits=UsageLimits(request_limit=None),
            )
        except BaseException as error:
            # A cancelled run carries what it had complete: finished tool results, half an answer.
            run = RunCancelled.from_cancellation(error)
            recorder.keep(run.all_messages() if run is not None else ())
            raise
        finally:
            self._recorder = None
            await recorder.end()

    async def _before_request(self, parameters: ModelRequestParameters) -> None:
        self.listener.on_request(parameters)
        if self._requests >= self.max_requests:
            raise _RequestLimitReached
        self.start = await self.cascade.before_request(self.start)
        self._requests += 1

    def _on_response(self, response: ModelResponse) -> None:
        self._responses.append(response)
        self.listener.on_retry(None)
        self.listener.on_response(response)

    def _on_event(self, event: AgentStreamEvent) -> None:
        for update in updates_of_event(event, self.ids):
            self.listener.on_update(update)

    def _outcome(self, stop_reason: StopReason) -> TurnOutcome:
        return TurnOutcome(stop_reason, self._answer(), self.usage())

    def _answer(self) -> str:
        return (self._responses[-1].text or "") if self._responses else ""

    def _stop_reason(self) -> StopReason:
        match self._responses[-1].finish_reason if self._responses else None:
            case "length":
                return "max_tokens"
            case "content_filter":
                return "refusal"
            case _:
                return "end_turn"

    def usage(self) -> TurnUsage:
        """What the turn's requests used so far, summed."""
        usages = [response.usage for response in self._responses]
        return TurnUsage(
            input_tokens=sum(usage.input_tokens for usage in usages),
            output_tokens=sum(usage.output_tokens for usage in usages),
            cache_read_tokens=sum(usage.cache_read_tokens for usage in usages),
            requests=self._requests,
        )
