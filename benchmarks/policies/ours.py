"""The product's own cascade: a real History with its log on disk, a real Compactor, the real recall tool."""

from __future__ import annotations

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
from agent_ls.settings import Settings
from agent_ls.tools import recall
from benchmarks.policies.policy import FIXED_TOKENS, NotSent, Setting
from benchmarks.policies.recording import says_something
from benchmarks.policies.summarizer import FakeSummarizer
from tests.simulator.openai_chat import ENCODING
from tests.simulator.tokens import count_text

_RECALL_TOKENS: Final = count_text(recall.INSTRUCTION, ENCODING)
_QUERY_WORDS: Final = 12


class Ours:
    """agent_ls as it is; `values` are settings that differ from the defaults."""

    def __init__(self, setting: Setting, **values: Any) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="policy-"))
        self._history = History.create(self._folder, directory=self._folder)
        self._turn_start = 0
        self._compactor = _compactor(self._history, setting.window, setting.summarizer, Settings(**values))
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
            # The turn is over; what is recorded after it goes on as a turn of the same prompt, where that stands now.
            self._turn_start = self._newest_prompt()
            raise NotSent(error.message) from error
        return self._history.messages

    def _newest_prompt(self) -> int:
        messages = self._history.messages
        prompts = (index for index in range(len(messages) - 1, 0, -1) if says_something(messages[index]))
        return next(prompts, 0)

    def answered(self, response: ModelResponse) -> None:
        """As the meter does."""
        self._history.append(response)
        self._compactor.measure.responded(self._history.messages, self._history.first_after_checkpoint)

    async def end_turn(self) -> None:
        """The cascade at the end of a turn."""
        await self._compactor.at_turn_end()

    async def recalls(self, text: str) -> bool:
        """Whether the recall tool finds the text by its first words, and returns it."""
        found = await recall.matches(self._history, " ".join(text.split()[:_QUERY_WORDS]))
        for line in found.splitlines():
            whole = await recall.text_with_id(self._history, line.partition(" ")[0])
            if whole is not None and text in whole:
                return True
        return False

    def close(self) -> None:
        """Remove the log."""
        self._history.close()
        shutil.rmtree(self._folder, ignore_errors=True)


async def compacted_by_hand(
    messages: Sequence[ModelMessage], window: int, keep: int, summarizer: FakeSummarizer
) -> Sequence[ModelMessage]:
    """A history after `/compact`, in a window and with a tail of so many tokens."""
    with tempfile.TemporaryDirectory(prefix="fidelity-") as folder:
        history = History.create(Path(folder), directory=Path(folder))
        history.append(*messages)
        await _compactor(history, window, summarizer, Settings(compaction_keep_recent_tokens=keep)).by_hand(None)
        history.close()
        return history.messages


def _compactor(history: History, window: int, fake: FakeSummarizer, settings: Settings) -> Compactor:
    model = ResolvedModel(model=fake.model, name="summarizer", window=window, offers_tools=False)

    async def summarizer() -> ResolvedModel:
        return model

    return Compactor(
        history=history,
        measure=Measure(),
        settings=lambda: settings,
        window=lambda: window,
        summarizer=summarizer,
        on_event=lambda event: None,
        warn=lambda identifier, message: None,
    )
