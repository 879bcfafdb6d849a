"""Keeps a pydantic-ai run's messages and the session's history the same list, round by round."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import AgentStreamEvent, ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters

from agent_ls.history import History
from agent_ls.models.prefixed import PrefixedModel, newest_exchange
from agent_ls.models.request_settings import with_allowance_in
from agent_ls.tools.presentation import changes_something


@dataclass
class HistoryRecorder(AbstractCapability[Any]):
    """One run's bridge to the history.

    Before a request: what the run added since (tool results, steering) is logged, room is made, and the run is
    handed the newest exchange of the history, its model what comes before. After a response: it is logged before any
    of its tools runs (DESIGN §4 write-ahead), and synced to disk when one of them changes something. Invariant between
    hooks: the run's first `_known` messages are the history from `_start` on.
    """

    history: History
    model: PrefixedModel
    before_request: Callable[[ModelRequestParameters], Awaitable[None]]
    room_for_answer: Callable[[], int]
    on_response: Callable[[ModelResponse], None]
    on_stream_event: Callable[[AgentStreamEvent], None]
    _start: int = 0
    _known: int | None = None
    _context: RunContext[Any] | None = None
    _steering: list[str] = field(default_factory=list)
    _tasks: set[asyncio.Task[Any] | None] = field(default_factory=set)
    """Those that the run made for itself and for its requests."""

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Take hold of the run, for steering."""
        self._context = ctx
        self._tasks.add(asyncio.current_task())

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Log what is new, make room, and hand the history to the run."""
        self._tasks.add(asyncio.current_task())
        if self._known is not None:
            self._append(ctx.messages[self._known :])
            self._known = len(ctx.messages)  # should the next line be cancelled
        await self.before_request(request_context.model_request_parameters)
        ctx.messages[:] = self.newest_messages()
        request_context.messages = list(ctx.messages)
        request_context.model_settings = with_allowance_in(
            self.room_for_answer(), request_context.model_settings, self.model
        )
        self._known = len(ctx.messages)
        return request_context

    def newest_messages(self) -> list[ModelMessage]:
        """What the run holds of the history; the rest goes in front of its requests."""
        messages = self.history.messages
        self._start = newest_exchange(messages)
        self.model.put_in_front(messages[: self._start])
        return list(messages[self._start :])

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Log the response ahead of its tools."""
        try:
            if any(changes_something(call.tool_name) for call in response.tool_calls):
                await self.history.append_durably(response)
            else:
                self.history.append(response)
        finally:  # cancelled while the disk was slow: it is logged all the same
            self._known = len(self.history.messages) - self._start
            self.on_response(response)
        return response

    async def on_event(self, ctx: RunContext[Any], *, event: AgentStreamEvent) -> None:
        """Pass a streamed event on; that this hook exists is what makes the run stream."""
        self.on_stream_event(event)

    def steer(self, text: str) -> bool:
        """Queue a user message for the run's next request. False if the run takes no more."""
        if self._context is None:
            return False
        try:
            self._context.enqueue(text)
        except UserError:
            return False
        self._steering.append(text)
        return True

    def keep(self, messages: Sequence[ModelMessage]) -> None:
        """Log what a run that ended early had complete, and steering it never delivered."""
        if self._known is not None:
            self._append(messages[self._known :])
        if self._steering:
            self._append([ModelRequest(parts=[UserPromptPart(text) for text in self._steering])])

    async def end(self) -> None:
        """End what the run left waiting, and with it the provider's connection.

        pydantic-ai 2.62 forgets its task for a run, or for a request, if the cancel comes in the step it begins in.
        """
        left = [task for task in self._tasks - {asyncio.current_task()} if task is not None and not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _append(self, messages: Sequence[ModelMessage]) -> None:
        for message in messages:
            for part in message.parts:
                if isinstance(part, UserPromptPart) and part.content in self._steering:
                    self._steering.remove(str(part.content))
        self.history.append(*messages)
