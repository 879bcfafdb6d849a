"""The bridge between a run and its history, where a cancel comes between the two."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic_ai.capabilities import Toolset
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.toolsets import FunctionToolset

from agent_ls.history import History
from agent_ls.models import ContextOverflow
from agent_ls.turn import Turn
from agent_ls.updates import ToolCallIds
from tests.log.strategies import prompt
from tests.scripted_model import says, scripted
from tests.trust.test_cancelled_steps import Nobody


class MakesRoomForEver:
    """A cascade whose second compaction does not end."""

    def __init__(self) -> None:
        self.requests = 0
        self.compacts = asyncio.Event()

    async def before_request(self, turn_start: int) -> int:
        self.requests += 1
        if self.requests == 2:
            self.compacts.set()
            await asyncio.Event().wait()
        return turn_start

    async def after_overflow(self, turn_start: int, overflow: ContextOverflow) -> int | None:
        return None


async def test_a_cancel_while_room_is_made_logs_results_and_steering_once(tmp_path: Path) -> None:
    def answer(messages: list[ModelMessage]) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("look", {}, tool_call_id="c")]) if len(messages) == 1 else says("no")

    tools, cascade = FunctionToolset(), MakesRoomForEver()

    @tools.tool_plain
    def look() -> str:
        assert turn.steer("Stop soon.")
        return "seen"

    history = History.create(tmp_path, directory=tmp_path)
    history.append(prompt("go"))
    turn = Turn(
        history=history,
        cascade=cascade,
        listener=Nobody(),
        model=scripted(answer),
        capabilities=[Toolset(tools)],
        instructions=lambda: "Be brief.",
        room_for_answer=lambda: 1_000,
        max_requests=10,
        ids=ToolCallIds(),
    )
    running = asyncio.ensure_future(turn.run())
    await cascade.compacts.wait()
    running.cancel()
    assert (await running).stop_reason == "cancelled"
    parts = [part for original in history.originals() for part in original.message.parts]
    assert [part.content for part in parts if isinstance(part, ToolReturnPart)] == ["seen"]
    assert [part.content for part in parts if isinstance(part, UserPromptPart)] == ["go", "Stop soon."]
