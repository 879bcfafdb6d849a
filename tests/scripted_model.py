"""A pydantic-ai model that plays a script, with exact usage, streamed and not."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

from agent_ls.models import ResolvedModel

Script = Callable[[list[ModelMessage]], ModelResponse | Awaitable[ModelResponse]]


def scripted(script: Script, *, window: int | None = None, offers_tools: bool = True) -> ResolvedModel:
    """A resolved model whose every request is answered by `script`, which may raise."""

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        response = script(messages)
        return await response if inspect.isawaitable(response) else response

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        response = await answer(messages, info)
        for index, part in enumerate(response.parts):
            match part:
                case TextPart(content=text):
                    yield text
                case ThinkingPart(content=text):
                    yield {index: DeltaThinkingPart(content=text)}
                case ToolCallPart():
                    yield {
                        index: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)
                    }

    model = FunctionModel(answer, stream_function=stream)
    return ResolvedModel(model=model, name="scripted", window=window, offers_tools=offers_tools)


def says(text: str, *, input_tokens: int = 100, output_tokens: int = 20) -> ModelResponse:
    """An answer with its usage."""
    usage = RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens)
    return ModelResponse(parts=[TextPart(text)], usage=usage)
