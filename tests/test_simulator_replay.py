"""Recorded sessions through the real provider classes: a large window refuses nothing, a small one says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage

from tests.conftest import SimulatedModel
from tests.simulator import Reply, Simulator
from tests.simulator.replay import RecordedSession

SESSIONS = sorted((Path(__file__).parent / "data" / "sessions").glob("*.json"))
SUMMARY = Reply("A summary.")


async def play(session: RecordedSession, agent: Agent[None, str]) -> list[ModelMessage]:
    history: list[ModelMessage] = []
    for turn in session.turns:
        history = (await agent.run(turn.prompt, message_history=history)).all_messages()
    return history


@pytest.mark.parametrize("name", ["openai-chat:gpt-5", "anthropic:claude-sonnet-5-5"])
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
async def test_every_recorded_reply_is_played_and_nothing_refused(
    simulated_model: SimulatedModel, path: Path, name: str
) -> None:
    session = RecordedSession.load(path)
    script = session.script(SUMMARY)
    with Simulator(window=2_000_000, replies=script) as simulator:
        model = simulated_model(simulator, name).model
        history = await play(session, Agent(model, tools=session.tools()))
        assert simulator.refused == []
        assert not script.left
        played = [message for message in history if message.kind == "response"]
        assert len(played) == len(session.replies) == len(simulator.exchanges) > 0
        calls = [call for reply in session.replies for call in reply.tool_calls]
        assert sum(len(message.tool_calls) for message in played) == len(calls)


async def test_a_session_that_outgrows_the_window_is_refused(simulated_model: SimulatedModel) -> None:
    session = RecordedSession.load(Path(__file__).parent / "data" / "sessions" / "cc-subagent.json")
    with Simulator(window=8_000, replies=session.script(SUMMARY)) as simulator:
        model = simulated_model(simulator, "openai-chat:gpt-5").model
        with pytest.raises(ModelHTTPError, match="maximum context length is 8000"):
            await play(session, Agent(model, tools=session.tools()))
        assert len(simulator.refused) == 1
        assert all(request.input_tokens <= 8_000 for request in simulator.requests[:-1])
