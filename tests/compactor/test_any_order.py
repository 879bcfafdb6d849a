"""Turns, compactions, undo and restarts in any order: no request is larger than the window (CASCADE §9, §13)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from agent_ls.history import History
from tests.compactor.stage import Stage
from tests.simulator.tokens import EncodingName, count_text

WINDOW: Final = 24_000
_FIXED: Final = 5_000
_STEPS: Final = 50
_ENCODINGS: Final[tuple[EncodingName, ...]] = ("o200k_base", "cl100k_base")


class Life:
    """One session that lives through what `chance` picks; its provider counts with a real tokenizer."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.encoding = self.chance.choice(_ENCODINGS)
        self.stage = Stage(folder, window=WINDOW, compaction_keep_recent_tokens=2_000)
        self.prompts = 0
        self.done: list[str] = []
        self.sent: list[int] = []

    async def step(self) -> None:
        kinds = {"turn": 8, "compact": 1, "undo": 1, "compact and undo": 2, "restart": 2}
        name = self.chance.choices(list(kinds), list(kinds.values()))[0]
        self.done.append(name)
        match name:
            case "turn":
                await self._turn()
            case "compact":
                await self.stage.compactor.by_hand(None)
            case "undo":
                self.stage.compactor.undo()
            case "compact and undo":
                await self.stage.compactor.by_hand(None)
                self.stage.compactor.undo()
            case _ if self.stage.history.messages:
                self._restart()

    def end(self) -> None:
        self.stage.history.close()

    async def _turn(self) -> None:
        self.prompts += 1
        self.stage.user(f"prompt {self.prompts}.")
        start = len(self.stage.history.messages) - 1
        for _ in range(self.chance.randrange(4)):
            start = await self._ask(start)
            call = f"call-{len(self.sent)}"
            self._respond([ToolCallPart("read_file", {"path": "a.py"}, call)])
            if not self.chance.randrange(12):
                self._restart()  # killed while the tool ran
                return
            self.stage.results({call: f"value_{self.prompts} = {self.prompts}\n" * 300})
        await self._ask(start)
        self._respond([TextPart(f"answer to {self.prompts}: " + "words " * 60)])
        await self.stage.compactor.at_turn_end()

    async def _ask(self, start: int) -> int:
        compactor = self.stage.compactor
        compactor.measure.carries(round(_FIXED * compactor.measure.estimator.factor))
        start = await compactor.before_request(start)
        self.sent.append(_FIXED + sum(map(self._count, self.stage.history.messages)))
        assert self.sent[-1] <= WINDOW, f"a request of {self.sent[-1]:,} tokens after {self.done}"
        return start

    def _respond(self, parts: list[Any]) -> None:
        response = ModelResponse(parts=parts)
        response.usage = RequestUsage(input_tokens=self.sent[-1], output_tokens=self._count(response))
        self.stage.responds(response)

    def _restart(self) -> None:
        path = self.stage.history.path
        self.stage.history.close()
        self.stage.goes_on(History.resume(path))

    def _count(self, message: ModelMessage) -> int:
        held = [
            json.dumps(part.args) if isinstance(part, ToolCallPart) else str(getattr(part, "content", ""))
            for part in message.parts
        ]
        return 4 + sum(3 + count_text(text, self.encoding) for text in held)


@pytest.mark.parametrize("seed", range(20))
async def test_no_request_is_larger_than_the_window_in_any_order(tmp_path: Path, seed: int) -> None:
    life = Life(tmp_path, seed)
    for _ in range(_STEPS):
        await life.step()
    life.end()
    assert max(life.sent) > WINDOW // 2
