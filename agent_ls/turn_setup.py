"""What a turn's agent is made of: the model by its setting, the session's tools, the instructions of the moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field
from pydantic_ai.capabilities import AbstractCapability

from agent_ls.memory.clip import Caps
from agent_ls.memory.instructions import InstructionReader, Instructions
from agent_ls.models import ResolvedModel, resolve_model
from agent_ls.settings import Settings
from agent_ls.system_prompt import system_prompt
from agent_ls.tools.capabilities import agent_capabilities
from agent_ls.tools.environment import ToolEnvironment


@define
class TurnSetup:
    """One session's ingredients. `instructions` is read anew for every request; unchanged files cost a stat each."""

    workspace: Path
    settings: Callable[[], Settings]
    tools: ToolEnvironment
    reader: InstructionReader
    _model: ResolvedModel | None = field(init=False, default=None)
    _model_key: tuple[str | None, int | None] | None = field(init=False, default=None)

    async def model(self) -> ResolvedModel:
        """The session's model, made anew when its settings changed. Raises ModelUnavailable."""
        settings = self.settings()
        key = (settings.model, settings.compaction_context_window_tokens)
        if self._model is None or key != self._model_key:
            self._model = await asyncio.to_thread(resolve_model, key[0], window=key[1])
            self._model_key = key
        return self._model

    @property
    def known_model(self) -> ResolvedModel | None:
        """The model as last made, None before the first turn."""
        return self._model

    def capabilities(self, model: ResolvedModel) -> Sequence[AbstractCapability[Any]]:
        """The tools of one run; none for a model that cannot call them."""
        return agent_capabilities(self.tools) if model.offers_tools else ()

    def workspace_instructions(self) -> Instructions:
        """AGENTS.md and MEMORY.md as they are now."""
        return self.reader.load(Caps.of(self.settings()))

    def instructions(self, model: ResolvedModel) -> str:
        """The instructions of one request."""
        return system_prompt(
            self.workspace,
            workspace_instructions=self.workspace_instructions().text,
            offers_tools=model.offers_tools,
        )
