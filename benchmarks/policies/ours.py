"""The product's own cascade: a real History with its log on disk, a real Compactor, the real recall tool."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from agent_ls.compaction.occupancy import Measure
from agent_ls.compactor import Compactor
from agent_ls.errors import ContextTooLarge
from agent_ls.history import History
from agent_ls.models import ResolvedModel
from agent_ls.protocol import CompactionEvent
from agent_ls.settings import Settings
from agent_ls.tools import recall
from benchmarks.policies.policy import FIXED_TOKENS, NotSent, Setting
from tests.simulator.openai_chat import ENCODING
from tests.simulator.tokens import count_text

_RECALL_TOKENS: Final = count_text(recall.INSTRUCTION, ENCODING)
_QUERY_WORDS: Final = 12


class Ours:
    """agent_ls as it is; `values` are settings that differ from the defaults."""

    def __init__(self, setting: Setting, **values: Any) -> None:
        self.setting = setting
        self.events: list[CompactionEvent] = []
        self._folder = Path(tempfile.mkdtemp(prefix="policy-"))
        self._history = History.create(self._folder, directory=self._folder)
        self._turn_start = 0
        settings = Settings(**values)
        model = ResolvedModel(
            model=setting.summarizer.model, name="summarizer", window=setting.window, offers_tools=False
        )

        async def summarizer() -> ResolvedModel:
            return model

        self._compactor = Compactor(
            history=self._history,
            measure=Measure(),
            settings=lambda: settings,
            window=lambda: setting.window,
            summarizer=summarizer,
            on_event=self.events.append,
            warn=lambda identifier, message: None,
        )
        self._compactor.measure.carries(FIXED_TOKENS)

    @property
    def fixed(self) -> tuple[str, int]:
        """The instructions tell of `recall` once something was taken out."""
        if self._history.last_compaction is None and not self._history.anything_elided:
            return "", FIXED_TOKENS
        return "recall", FIXED_TOKENS + _RECALL_TOKENS

    def add(self, message: ModelRequest, *, begins_turn: bool) -> None:
        """As the turn does."""
        if begins_turn:
            self._turn_start = len(self._history.messages)
        self._history.append(message)

    async def before_request(self) -> Sequence[ModelMessage]:
        """What the guard leaves. Raises NotSent where it ends the turn."""
        try:
            self._turn_start = await self._compactor.before_request(self._turn_start)
        except ContextTooLarge as error:
            raise NotSent(error.message) from error
        return self._history.messages

    def answered(self, response: ModelResponse) -> None:
        """As the meter does."""
        self._history.append(response)
        self._compactor.measure.responded(self._history.messages, self._history.first_after_checkpoint)

    async def end_turn(self) -> None:
        """The cascade at the end of a turn."""
        await self._compactor.at_turn_end()

    async def recalls(self, text: str) -> bool:
        """Whether the recall tool finds the text's words in the log and returns it whole."""
        query = " ".join(text.split()[:_QUERY_WORDS])
        folded = query.casefold().split()
        async for saying in recall._sayings(self._history):
            if text in saying.text and all(word in saying.text.casefold() for word in folded):
                return True
            await asyncio.sleep(0)
        return False

    def close(self) -> None:
        """Remove the log."""
        self._history.close()
        shutil.rmtree(self._folder, ignore_errors=True)
