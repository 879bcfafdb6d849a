"""What a provider gets does not depend on how much of the history the run holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from agent_ls.models.mending import MendingModel
from agent_ls.models.prefixed import PrefixedModel, newest_exchange
from tests.compaction.histories import histories

PARAMETERS = ModelRequestParameters()
AWKWARD: list[list[ModelMessage]] = [
    [],  # the request failed, and another prompt follows it
    [
        ModelResponse(parts=[]),
        ModelRequest(parts=[RetryFeedbackPart("Say something.", retry=RetryInfo(cause="no_output"))]),
        ModelResponse(parts=[TextPart("Something.")]),
        ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("Go on.")]),
        ModelResponse(parts=[TextPart("On.")]),
    ],
    [ModelResponse(parts=[TextPart("In")]), ModelResponse(parts=[TextPart(" two.")])],
]
MODELS: dict[str, Model] = {
    "openai": MendingModel(OpenAIChatModel("gpt-5", provider=OpenAIProvider(api_key="none"))),
    "anthropic": MendingModel(AnthropicModel("claude-opus-4-5", provider=AnthropicProvider(api_key="none"))),
}


class Provider(WrapperModel):
    """Keeps what it is sent."""

    def __init__(self, wrapped: Model) -> None:
        super().__init__(wrapped)
        self.got: list[ModelMessage] = []

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        self.got = messages
        return ModelResponse(parts=[])


def as_pydantic_ai_prepares(model: Model, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    return repair_messages(model.prepare_messages(repair_messages(list(messages)), PARAMETERS))


async def sent(model: PrefixedModel, provider: Provider, history: Sequence[ModelMessage]) -> list[ModelMessage]:
    start = newest_exchange(history)
    model.put_in_front(history[:start])
    await model.request(as_pydantic_ai_prepares(model, history[start:]), None, PARAMETERS)
    return provider.got


@pytest.mark.parametrize("name", MODELS)
@given(history=histories(), data=st.data())
async def test_every_request_of_a_growing_and_changing_history_is_what_pydantic_ai_would_send(
    name: str, history: list[ModelMessage], data: Any
) -> None:
    provider = Provider(MODELS[name])
    model = PrefixedModel(provider)
    answers = [index for index, each in enumerate(history) if isinstance(each, ModelResponse) and not each.tool_calls]
    for index in sorted(data.draw(st.sets(st.sampled_from(answers), max_size=3)) if answers else (), reverse=True):
        history[index : index + 1] = data.draw(st.sampled_from(AWKWARD), label="in place of an answer")
    for length in range(1, len(history) + 1):
        if not isinstance(history[length - 1], ModelRequest):
            continue
        if data.draw(st.booleans(), label="a message is another object now"):
            changed = data.draw(st.integers(0, length - 1))
            history[changed] = type(history[changed])(parts=list(history[changed].parts))
        assert await sent(model, provider, history[:length]) == as_pydantic_ai_prepares(MODELS[name], history[:length])
