"""The whole history in every request, while a run holds only its newest messages.

pydantic-ai looks through all messages of a run a dozen times for every request: 83 ms of each round at 10 MB of history
(docs/benchmarks.md). What came before the newest exchange does not change from one round to the next, so it is prepared
once, as pydantic-ai itself would, and put in front of the request on its way to the provider.
"""

from __future__ import annotations

import operator
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart, repair_messages
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

_OPENING: Final = ModelRequest(parts=[UserPromptPart("…")])
"""Stands for what came before while later messages are prepared: only the first request has a standing prompt."""


def newest_exchange(messages: Sequence[ModelMessage]) -> int:
    """The index of the newest response that answers a request: what is before it can be prepared apart from the rest.

    No call is parted from its result there, and no message from one it would be merged with. 0 if there is none.
    """
    for index in range(len(messages) - 1, 0, -1):
        if isinstance(messages[index], ModelResponse) and isinstance(messages[index - 1], ModelRequest):
            return index
    return 0


class PrefixedModel(WrapperModel):
    """The wrapped model, which gets `earlier` messages in front of each request's own."""

    def __init__(self, wrapped: Model) -> None:
        super().__init__(wrapped)
        self._earlier: Sequence[ModelMessage] = ()
        self._source: list[ModelMessage] = []
        self._prepared: list[ModelMessage] = []

    def put_in_front(self, earlier: Sequence[ModelMessage]) -> None:
        """From now on, requests carry these first. They end where `newest_exchange` says."""
        self._earlier = earlier

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """As the wrapped model, for messages that follow the earlier ones."""
        if not self._earlier:
            return self.wrapped.prepare_messages(messages, model_request_parameters)
        return self.wrapped.prepare_messages([_OPENING, *messages], model_request_parameters)[1:]

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """As the wrapped model."""
        whole = self._whole(messages, model_request_parameters)
        return await self.wrapped.request(whole, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """As the wrapped model."""
        whole = self._whole(messages, model_request_parameters)
        async with self.wrapped.request_stream(whole, model_settings, model_request_parameters, run_context) as stream:
            yield stream

    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        """As the wrapped model."""
        whole = self._whole(messages, model_request_parameters)
        return await self.wrapped.count_tokens(whole, model_settings, model_request_parameters)

    def _whole(self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> list[ModelMessage]:
        known = len(self._source)
        if known > len(self._earlier) or not all(map(operator.is_, self._source, self._earlier)):
            self._source, self._prepared, known = [], [], 0
        if new := list(self._earlier[known:]):
            self._prepared += self._prepare(new, parameters, opens=known == 0)
            self._source += new
        return [*self._prepared, *messages]

    def _prepare(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, *, opens: bool
    ) -> list[ModelMessage]:
        """What pydantic-ai makes of a request's messages before a model gets them."""
        repaired = repair_messages(messages if opens else [_OPENING, *messages])
        prepared = repair_messages(self.wrapped.prepare_messages(repaired, parameters))
        return prepared if opens else prepared[1:]
