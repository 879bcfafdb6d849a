"""The model `local`: pydantic-ai's OpenAI chat model over the child process of `agent_ls.local_model`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from agent_ls.local_model import CONTEXT_WINDOW, SERVER

_NOT_STARTED = "http://127.0.0.1:9/v1"
_MAX_OUTPUT_TOKENS = 512
_READ_TIMEOUT_SECONDS = 600.0


class LocalModel(OpenAIChatModel):
    """Starts the child before a request if it does not run (again), without blocking the event loop."""

    @classmethod
    def build(cls) -> Self:
        """The model, its child not started yet."""
        # Low temperature and a penalty: at this size it repeats itself for ever otherwise.
        settings = OpenAIChatModelSettings(
            max_retries=0,
            max_tokens=_MAX_OUTPUT_TOKENS,
            temperature=0.2,
            seed=1,
            extra_body={"repeat_penalty": 1.15},
        )
        profile = ModelProfile(context_window=CONTEXT_WINDOW, supports_tools=False)
        return cls("local", provider=_provider(), profile=profile, settings=settings)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the client, which the provider leaves open because it did not make it."""
        await self.client.close()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """As the base class. Raises ModelUnavailable if the child cannot be started."""
        await self._ensure_running()
        return await super().request(messages, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """As the base class. Raises ModelUnavailable if the child cannot be started."""
        await self._ensure_running()
        async with super().request_stream(messages, model_settings, model_request_parameters, run_context) as stream:
            yield stream

    async def _ensure_running(self) -> None:
        base_url = await asyncio.to_thread(SERVER.ensure_running)
        if self.client.is_closed():
            self._provider = _provider()
        self.client.base_url = base_url


def _provider() -> OpenAIProvider:
    client = AsyncOpenAI(
        base_url=_NOT_STARTED,
        api_key=SERVER.api_key,
        max_retries=0,
        # A proxy of the environment must not see what goes to the loopback.
        http_client=httpx2.AsyncClient(trust_env=False, timeout=_READ_TIMEOUT_SECONDS),
    )
    return OpenAIProvider(openai_client=client)
