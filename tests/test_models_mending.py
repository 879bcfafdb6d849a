"""What every provider accepts: mended histories, judged by the strict simulator through the real provider classes."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    ToolSearchReturnPart,
    UserPromptPart,
)

from agent_ls.models import resolve_model
from agent_ls.models.mending import NO_OUTPUT, mended
from tests.conftest import SimulatedModel
from tests.simulator import Reply, Simulator, ToolCall

MODELS = ["openai-chat:gpt-5", "anthropic:claude-sonnet-5-5"]

TEXTS = st.sampled_from(["", " \n", "\u2028", "words", "日本語", "half a pair \ud83d"])
# Few ids, so that they are repeated; some that no provider takes.
CALL_IDS = st.sampled_from(["a", "b", "a-2", "", "c" * 60, "c" * 61, "call|fc", "ü", "functions.look:0"])
TOOL_NAMES = st.sampled_from(["look", "functions.look", "", "n" * 80, "run it"])


@st.composite
def rounds(draw: st.DrawFn) -> list[ModelMessage]:
    """A response with calls and the request that answers each of them, in order."""
    calls = [ToolCallPart(draw(TOOL_NAMES), "{}", tool_call_id=draw(CALL_IDS)) for _ in range(draw(st.integers(0, 4)))]
    said = [TextPart(text) for text in draw(st.lists(TEXTS, max_size=2))]
    response: list[ModelResponsePart] = [*said, *calls]
    answers: list[ModelRequestPart] = [
        ToolReturnPart(call.tool_name, draw(TEXTS), tool_call_id=call.tool_call_id) for call in calls
    ]
    if not calls or draw(st.booleans()):
        answers.append(UserPromptPart(draw(TEXTS | st.lists(TEXTS, max_size=2))))
    return [ModelResponse(response), ModelRequest(answers)]


@st.composite
def histories(draw: st.DrawFn) -> list[ModelMessage]:
    messages: list[ModelMessage] = [ModelRequest([UserPromptPart(draw(TEXTS))])]
    for one in draw(st.lists(rounds(), max_size=4)):
        messages += one
    return messages


def pairs(messages: Sequence[ModelMessage]) -> Iterator[tuple[str, str]]:
    """(id of a call, id of its result) by position."""
    for response, request in zip(messages[1::2], messages[2::2], strict=True):
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        answers = [part for part in request.parts if isinstance(part, ToolReturnPart)]
        yield from zip((call.tool_call_id for call in calls), (one.tool_call_id for one in answers), strict=True)


@given(histories())
def test_it_keeps_pairs_order_and_length_and_mutates_nothing(history: list[ModelMessage]) -> None:
    before = copy.deepcopy(history)
    view = mended(history)
    assert history == before
    assert len(view) == len(history)
    assert all(call == result for call, result in pairs(view))
    for message in view:
        if isinstance(message, ModelResponse):
            ids = [call.tool_call_id for call in message.tool_calls]
            assert len(set(ids)) == len(ids)


@given(histories())
def test_it_is_idempotent_and_returns_what_needs_no_mending_itself(history: list[ModelMessage]) -> None:
    once = mended(history)
    assert all(new is old for new, old in zip(mended(once), once, strict=True))


@given(histories(), rounds())
def test_what_comes_later_does_not_change_what_was_sent_before(
    history: list[ModelMessage], more: list[ModelMessage]
) -> None:
    assert mended([*history, *more])[: len(history)] == mended(history)


@pytest.mark.parametrize("name", MODELS)
def test_no_provider_refuses_a_mended_history(name: str) -> None:
    with Simulator(otherwise=Reply("ok")) as simulator:
        resolved = resolve_model(name, environ=simulator.environment)

        @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(histories())
        def accepted(history: list[ModelMessage]) -> None:
            runner.run(model_request(resolved.model, history))

        with asyncio.Runner() as runner:
            accepted()
            runner.run(resolved.aclose())
        assert simulator.refused == []
        assert len(simulator.exchanges) > 10


@pytest.mark.parametrize("name", MODELS)
async def test_a_session_survives_an_invented_tool_name_and_an_empty_result(
    simulated_model: SimulatedModel, name: str
) -> None:
    def look() -> str:
        return ""

    replies = [
        Reply(" \n", tool_calls=[ToolCall("look", {}), ToolCall("look", {})]),
        Reply(tool_calls=[ToolCall("functions.look it up", {})]),
        Reply("done"),
    ]
    with Simulator(replies=replies) as simulator:
        agent = Agent(simulated_model(simulator, name).model, tools=[look], retries=5)
        result = await agent.run("go")
        assert result.output == "done"
        assert simulator.refused == []
        returned = [
            part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)
        ]
        assert returned[0].content == "", "the history says what happened; only what is sent is mended"
        assert NO_OUTPUT in simulator.requests[1].text


def test_typed_results_and_thinking_stay() -> None:
    search = ToolSearchReturnPart(content={"discovered_tools": []}, tool_call_id="a")
    thinking = ThinkingPart(" \n", signature="signed")
    history: list[ModelMessage] = [
        ModelRequest([UserPromptPart("hi")]),
        ModelResponse([thinking, ToolCallPart("search_tools", "{}", tool_call_id="a")]),
        ModelRequest([search]),
    ]
    view = mended(history)
    assert view[1] is history[1]
    assert view[2] is history[2]
    assert ModelMessagesTypeAdapter.dump_json(view) == ModelMessagesTypeAdapter.dump_json(history)


async def test_the_wrapped_models_knowledge_shows_through(simulated_model: SimulatedModel) -> None:
    with Simulator() as simulator:
        resolved = simulated_model(simulator, "anthropic:claude-sonnet-5-5")
        assert resolved.model.context_window == resolved.window
        assert resolved.model.system == "anthropic"
        assert resolved.model.model_name == "claude-sonnet-5-5"
        assert resolved.model.settings is not None
