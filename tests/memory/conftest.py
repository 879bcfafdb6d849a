"""What the memory tests share: a store, a session with an answer, and models that answer as told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agent_ls.memory.ask import Ask, ask_of
from agent_ls.memory.store import MemoryStore
from agent_ls.memory.write_back import EndedSession
from agent_ls.protocol import SessionId

DAY = date(2026, 12, 1)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / ".agent_ls")


def conversation(
    prompt: str = "Why does the login test fail?", answer: str = "The clock was off."
) -> list[ModelMessage]:
    return [ModelRequest.user_text_prompt(prompt), ModelResponse(parts=[TextPart(answer)])]


def ended(session_id: str = "a1", covers: int = 2, messages: list[ModelMessage] | None = None) -> EndedSession:
    return EndedSession(SessionId(session_id), covers, conversation() if messages is None else messages, DAY)


def model_that(answer: str | Callable[[str], str] | Exception) -> Ask:
    """A pydantic-ai model that answers with a text, with what a function makes of the prompt, or fails."""

    def respond(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            return ModelResponse(parts=[TextPart(answer)])
        prompt = str(messages[-1].parts[-1].content)  # type: ignore[union-attr]
        return ModelResponse(parts=[TextPart(answer(prompt))])

    return ask_of(FunctionModel(respond))


def never(_prompt: str) -> str:
    """For a model that must not be asked."""
    raise AssertionError("the model was asked")
