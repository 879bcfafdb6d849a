"""One model of a kind, lent to whoever asks it; its connections close behind the last."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any, cast

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent

from agent_ls.errors import ModelUnavailable
from agent_ls.memory.ask import ask_of
from agent_ls.models import ResolvedModel, open_model
from agent_ls.models.mending import MendingModel
from tests.simulator import Reply, Simulator

NAME = "openai-chat:gpt-5"


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    with Simulator(otherwise=Reply("Yes.")) as simulator:
        for name, value in simulator.environment.items():
            monkeypatch.setenv(name, value)
        yield simulator


def client_of(model: ResolvedModel) -> AsyncOpenAI:
    """The SDK's client, which tells whether it is closed."""
    return cast(AsyncOpenAI, cast(Any, model.model).client)


async def ask(model: ResolvedModel) -> str:
    return (await Agent(model.model).run("Are you there?")).output


@pytest.mark.usefixtures("simulator")
async def test_two_of_a_kind_are_one_model_and_the_last_who_gives_it_back_closes_it() -> None:
    first, second = await asyncio.gather(open_model(NAME), open_model(f" {NAME} "))
    assert first.model is second.model
    assert (await open_model(NAME, window=8_000)).model is not first.model
    assert await ask(first) == "Yes."
    client = client_of(first)
    await first.aclose()
    await first.aclose()
    assert not client.is_closed()
    assert await ask(second) == "Yes."
    await second.aclose()
    assert client.is_closed()


@pytest.mark.usefixtures("simulator")
async def test_a_model_that_was_closed_answers_who_opens_it_next() -> None:
    before = await open_model(NAME)
    await before.aclose()
    again, another = await asyncio.gather(open_model(NAME), open_model(NAME))
    assert again.model is before.model
    assert await ask_of(again.model)("Are you there?", max_tokens=5) == "Yes."  # which opens nothing by itself
    await asyncio.gather(again.aclose(), ask(another))
    assert await ask(another) == "Yes."
    await another.aclose()


async def test_what_cannot_be_had_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelUnavailable):
        await open_model(NAME)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    model = await open_model(NAME)
    await model.aclose()


@pytest.mark.usefixtures("simulator")
async def test_a_failure_to_close_is_logged_and_the_next_may_open(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(self: object, *_: object) -> None:
        raise OSError("the socket is gone")

    with monkeypatch.context() as broken, caplog.at_level(logging.WARNING):
        broken.setattr(MendingModel, "__aexit__", fails)
        model = await open_model(NAME)
        await model.aclose()
    assert f"the connections of {NAME} could not be closed" in caplog.text
    again = await open_model(NAME)
    assert await ask(again) == "Yes."
    await again.aclose()
