"""A turn cancelled at each step of the event loop leaves no task behind, and so no provider's connection."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import ModelRequestParameters

from agent_ls.history import History
from agent_ls.models import ContextOverflow
from agent_ls.protocol import SessionUpdate
from agent_ls.turn import Turn, TurnOutcome
from agent_ls.updates import ToolCallIds
from tests.scripted_model import says, scripted


class EnoughRoom:
    """A cascade with nothing to do."""

    async def before_request(self, turn_start: int) -> int:
        return turn_start

    async def after_overflow(self, turn_start: int, overflow: ContextOverflow) -> int | None:
        return None


class Nobody:
    """Who is told, and does not care."""

    def on_update(self, update: SessionUpdate) -> None: ...

    def on_request(self, parameters: ModelRequestParameters) -> None: ...

    def on_response(self, response: ModelResponse) -> None: ...

    def on_retry(self, reason: str | None) -> None: ...


def turn_in(folder: Path) -> Turn:
    async def answer(messages: list[ModelMessage]) -> ModelResponse:
        await asyncio.sleep(0)
        return says("one two three")

    history = History.create(folder, directory=folder)
    history.append(ModelRequest(parts=[UserPromptPart("go")]))
    return Turn(
        history=history,
        cascade=EnoughRoom(),
        listener=Nobody(),
        model=scripted(answer),
        capabilities=[],
        instructions=lambda: "Be brief.",
        room_for_answer=lambda: 1_000,
        max_requests=10,
        ids=ToolCallIds(),
    )


async def cancelled_after(steps: int, folder: Path) -> TurnOutcome:
    task = asyncio.create_task(turn_in(folder).run())
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    outcome = await task
    assert asyncio.all_tasks() == {asyncio.current_task()}, f"left after {steps} steps"
    return outcome


async def test_a_turn_that_is_cancelled_at_any_step_leaves_no_task_behind(tmp_path: Path) -> None:
    steps = 1
    while (outcome := await cancelled_after(steps, tmp_path / str(steps))).stop_reason == "cancelled":
        steps += 1
    assert (outcome.stop_reason, outcome.text) == ("end_turn", "one two three")
    assert steps > 10
