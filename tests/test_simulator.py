"""The simulator against the real provider classes of pydantic-ai: what it streams, counts, caches and interrupts."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, AgentRun, AgentRunResult
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.models import ResolvedModel, resolve_model
from tests.conftest import SimulatedModel
from tests.simulator import Failure, Interruption, RecordedRequest, Reply, Simulator, ToolCall, Usage, drop, hang

MODELS = ["openai-chat:gpt-5", "anthropic:claude-sonnet-5-5"]
LONG_INSTRUCTIONS = "Be careful with what you change. " * 400

pytestmark = pytest.mark.parametrize("name", MODELS)


async def ask(agent: Agent[None, str], prompt: str | None, *, streamed: bool, **more: Any) -> AgentRunResult[str]:
    """One run; streaming goes through `agent.iter`, as the product does it."""
    if not streamed:
        return await agent.run(prompt, **more)
    run: AgentRun[None, str]
    async with agent.iter(prompt, **more) as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as events:
                    async for _ in events:
                        pass
    assert run.result is not None
    return run.result


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_tool_round_with_thinking(name: str, simulated_model: SimulatedModel, streamed: bool) -> None:
    calls = [ToolCall("look", {"at": "a"}), ToolCall("look", {"at": "ü"})]
    looking = Reply("Let me look.", thinking="Two places.", tool_calls=calls)
    with Simulator(replies=[looking, Reply("Found it.")]) as simulator:
        seen = []

        def look(at: str) -> str:
            seen.append(at)
            return f"at {at}"

        agent = Agent(simulated_model(simulator, name).model, tools=[look])
        result = await ask(agent, "Where?", streamed=streamed)
        assert result.output == "Found it."
        assert sorted(seen) == ["a", "ü"]
        assert simulator.refused == []
        first, second = simulator.exchanges
        assert first.request.streamed is streamed or name.startswith("anthropic")
        assert first.request.tool_names == ["look"]
        assert first.request.last_user_text == "Where?"
        assert "at ü" in second.request.text
        assert first.usage is not None
        reported = [message.usage for message in result.all_messages() if message.kind == "response"]
        assert reported[0].input_tokens == first.usage.input == first.request.input_tokens
        assert reported[0].output_tokens == first.usage.output > 0


@pytest.mark.parametrize("streamed", [False, True])
async def test_usage_can_be_scripted_or_left_out(name: str, simulated_model: SimulatedModel, streamed: bool) -> None:
    replies = [Reply("a", usage=Usage(32_100, 50, cache_read=30_000)), Reply("b", report_usage=False)]
    with Simulator(replies=replies) as simulator:
        agent = Agent(simulated_model(simulator, name).model)
        told = (await ask(agent, "hi", streamed=streamed)).response.usage
        assert (told.input_tokens, told.output_tokens, told.cache_read_tokens) == (32_100, 50, 30_000)
        assert (await ask(agent, "hi", streamed=streamed)).response.usage.input_tokens == 0


async def test_a_later_request_reads_its_prefix_from_the_cache(name: str, simulated_model: SimulatedModel) -> None:
    with Simulator(replies=[Reply("one"), Reply("two"), Reply("three")]) as simulator:
        agent = Agent(simulated_model(simulator, name).model, instructions=LONG_INSTRUCTIONS)
        first = await agent.run("first")
        second = await agent.run("second", message_history=first.all_messages())
        changed = Agent(agent.model, instructions="Now " + LONG_INSTRUCTIONS)
        await changed.run("third", message_history=second.all_messages())
        cold, warm, broken = [exchange.usage for exchange in simulator.exchanges]
        assert cold is not None
        assert warm is not None
        assert broken is not None
        assert cold.cache_read == 0
        assert warm.cache_read > 0.9 * cold.input
        assert broken.cache_read == 0
        assert (cold.cache_write > 0) is name.startswith("anthropic")


async def test_a_request_above_the_window_is_refused_as_too_long(name: str, simulated_model: SimulatedModel) -> None:
    with Simulator(window=1_000, otherwise=Reply("ok")) as simulator:
        resolved = simulated_model(simulator, name, window=1_000)
        with pytest.raises(ModelHTTPError) as raised:
            await Agent(resolved.model).run("word " * 2_000)
        assert raised.value.status_code == 400
        assert simulator.refused[0].input_tokens > 1_000
        simulator.window = 4_000
        assert (await Agent(resolved.model).run("word " * 2_000)).output == "ok"


BROKEN_HISTORIES: dict[str, list[ModelMessage]] = {
    "orphaned result": [
        ModelRequest([UserPromptPart("hi")]),
        ModelRequest([ToolReturnPart("look", "seen", tool_call_id="call_9")]),
    ],
    "unanswered call": [
        ModelRequest([UserPromptPart("hi")]),
        ModelResponse([ToolCallPart("look", "{}", tool_call_id="call_9")]),
        ModelRequest([UserPromptPart("go on")]),
    ],
    "duplicate ids": [
        ModelRequest([UserPromptPart("hi")]),
        ModelResponse([ToolCallPart("look", "{}", tool_call_id="call_9")] * 2),
        ModelRequest([ToolReturnPart("look", "seen", tool_call_id="call_9")]),
    ],
}


@pytest.mark.parametrize("history", BROKEN_HISTORIES.values(), ids=BROKEN_HISTORIES)
async def test_broken_histories_are_refused_through_the_real_provider(
    name: str, simulated_model: SimulatedModel, history: list[ModelMessage]
) -> None:
    with Simulator(otherwise=Reply("ok")) as simulator:
        # Not through an Agent: that mends some of these before they are sent.
        model = simulated_model(simulator, name).model
        with pytest.raises(ModelHTTPError, match=r"tool_use|tool_call"):
            await model_request(model, history)
        assert len(simulator.refused) == 1


@pytest.mark.parametrize("events", [0, 1, 3])
@pytest.mark.parametrize("streamed", [False, True])
async def test_dropped_connections(name: str, simulated_model: SimulatedModel, streamed: bool, events: int) -> None:
    with Simulator(replies=[drop(events), Reply("back")]) as simulator:
        agent = Agent(simulated_model(simulator, name).model)
        with pytest.raises(ModelConnectionError):
            await ask(agent, "hi", streamed=streamed)
        assert len(simulator.requests) == 1, "the SDK's own retries are off"
        assert (await ask(agent, "hi", streamed=streamed)).output == "back"


async def test_an_error_inside_a_stream(name: str, simulated_model: SimulatedModel) -> None:
    failing = Reply("half of", interruption=Interruption("error", after_events=2))
    with Simulator(replies=[failing]) as simulator, pytest.raises(ModelAPIError, match="Overloaded"):
        await ask(Agent(simulated_model(simulator, name).model), "hi", streamed=True)


async def test_http_errors_in_the_providers_shape(name: str, simulated_model: SimulatedModel) -> None:
    with Simulator(replies=[Failure(429, headers={"retry-after": "7"}), Failure(500)]) as simulator:
        agent = Agent(simulated_model(simulator, name).model)
        with pytest.raises(ModelAPIError) as limited:
            await agent.run("hi")
        assert limited.value.retry_after == 7
        with pytest.raises(ModelHTTPError) as broken:
            await agent.run("hi")
        assert broken.value.status_code == 500


async def test_a_hanging_reply_goes_on_when_released(name: str, simulated_model: SimulatedModel) -> None:
    with Simulator(replies=[hang(2, text="at last")]) as simulator:
        running = asyncio.create_task(ask(Agent(simulated_model(simulator, name).model), "hi", streamed=True))
        await asyncio.to_thread(simulator.wait_until_hanging)
        assert not running.done()
        simulator.release()
        assert (await running).output == "at last"


@pytest.mark.parametrize("events", [0, 2])
async def test_a_client_that_gives_up_a_hanging_reply_is_noticed(
    name: str, simulated_model: SimulatedModel, events: int
) -> None:
    with Simulator(replies=[hang(events), Reply("next")]) as simulator:
        agent = Agent(simulated_model(simulator, name).model)
        running = asyncio.create_task(ask(agent, "hi", streamed=True))
        await asyncio.to_thread(simulator.wait_until_hanging)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.to_thread(simulator.wait_for_disconnects)
        assert (await ask(agent, "again", streamed=True)).output == "next"


async def test_text_arrives_in_the_given_chunks(name: str, simulated_model: SimulatedModel) -> None:
    chunks = ["one ", "two ", "three"]
    with Simulator(replies=[Reply(chunks, seconds_between_events=0.001)]) as simulator:
        async with Agent(simulated_model(simulator, name).model).run_stream("hi") as stream:
            assert [delta async for delta in _deltas(stream)] == chunks


async def _deltas(stream: Any) -> AsyncIterator[str]:
    async for delta in stream.stream_text(delta=True, debounce_by=None):
        yield delta


async def test_output_beyond_the_allowance_is_cut(name: str, simulated_model: SimulatedModel) -> None:
    with Simulator(replies=[Reply("word " * 500)]) as simulator:
        result = await Agent(simulated_model(simulator, name).model).run("hi", model_settings={"max_tokens": 100})
        assert result.response.finish_reason == "length"
        assert result.response.usage.output_tokens == 100


async def test_a_script_may_be_a_function_and_its_errors_are_told(name: str, simulated_model: SimulatedModel) -> None:
    def script(request: RecordedRequest) -> Reply:
        return Reply({"ping": "pong"}[request.last_user_text])

    with Simulator(replies=script) as simulator:
        agent = Agent(simulated_model(simulator, name).model)
        assert (await agent.run("ping")).output == "pong"
        with pytest.raises(ModelHTTPError, match=r"script failed.*KeyError"):
            await agent.run("nothing")
        assert len(simulator.refused) == 1


async def test_an_exhausted_script_refuses(name: str, simulated_model: SimulatedModel) -> None:
    with Simulator(replies=[Reply("only")]) as simulator:
        agent = Agent(simulated_model(simulator, name).model)
        await agent.run("hi")
        with pytest.raises(ModelHTTPError, match="no scripted reply"):
            await agent.run("hi")
        simulator.play(Reply("more"))
        assert (await agent.run("hi")).output == "more"
        assert [request.refused for request in simulator.requests] == [False, True, False]


async def _ask_once(resolved: ResolvedModel) -> str:
    output = (await Agent(resolved.model).run("hi")).output
    await resolved.aclose()
    return output


def test_as_a_process(name: str, tmp_path: Path) -> None:
    script = tmp_path / "replies.py"
    script.write_text("replies = [Reply('from afar')]\n")
    record = tmp_path / "requests.jsonl"
    command = [sys.executable, "-m", "tests.simulator", "--script", str(script), "--record", str(record)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        environ = json.loads(process.stdout.readline())
        result = asyncio.run(_ask_once(resolve_model(name, environ=environ)))
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0
    assert result == "from afar"
    assert json.loads(record.read_text())["refusal"] is None
