"""What a turn's agent is made of: the model by its setting, the session's tools, the instructions of the moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field
from pydantic_ai.capabilities import AbstractCapability

from agent_ls.client import Client
from agent_ls.errors import ModelUnavailable
from agent_ls.history import History
from agent_ls.log.directory import outputs_directory
from agent_ls.memory.clip import Caps
from agent_ls.memory.instructions import InstructionReader, Instructions
from agent_ls.models import ResolvedModel, default_model_name, open_model
from agent_ls.protocol import Plan, ToolCallUpdate
from agent_ls.settings import DEFAULT_CONTEXT_WINDOW_TOKENS, LiveSettings, Settings
from agent_ls.system_prompt import system_prompt
from agent_ls.tools.approvals import ApprovalFile, default_path
from agent_ls.tools.capabilities import agent_capabilities
from agent_ls.tools.environment import ToolEnvironment
from agent_ls.tools.permissions import PermissionPolicy
from agent_ls.updates import ToolCallIds


@define
class TurnSetup:
    """One session's ingredients. Instructions are read for every request; unchanged files cost a stat each."""

    workspace: Path
    live_settings: LiveSettings
    tools: ToolEnvironment
    reader: InstructionReader
    _model: ResolvedModel | None = field(init=False, default=None)
    _model_key: tuple[str | None, int | None, float] | None = field(init=False, default=None)
    _summarizer: ResolvedModel | None = field(init=False, default=None)
    _summarizer_key: str | None = field(init=False, default=None)

    @classmethod
    def of_session(
        cls,
        workspace: Path,
        history: History,
        client: Client,
        settings: LiveSettings,
        directory: Path,
        *,
        ids: ToolCallIds,
        window: Callable[[], int],
        room: Callable[[], int],
        weigh: Callable[[str], int],
        announce: Callable[[ToolCallUpdate | Plan], None],
    ) -> TurnSetup:
        """The setup of a session whose files are in `directory`. What a person always allows is in their own files."""
        approvals = ApprovalFile(default_path(), workspace)
        tools = ToolEnvironment(
            workspace=workspace,
            session_id=history.session_id,
            client=client,
            settings=lambda: settings.current,
            window=window,
            room=room,
            weigh=weigh,
            recall=history,
            anything_elided=lambda: history.last_compaction is not None or history.anything_elided,
            permissions=PermissionPolicy(
                history.session_id, client, lambda: settings.current.permission_mode, approvals
            ),
            outputs=outputs_directory(directory, history.session_id),
            announce=announce,
            call_id=ids.current,
        )
        return cls(workspace, settings, tools, InstructionReader(workspace, directory))

    @property
    def settings(self) -> Settings:
        """The settings in force now."""
        return self.live_settings.current

    def reread_settings(self) -> str | None:
        """Take a changed user file into force (DESIGN §8: no restart); what is wrong with it, if anything is."""
        return " ".join(refusal.message for refusal in self.live_settings.reread_user_file().refused) or None

    async def model(self) -> ResolvedModel:
        """The session's model, made anew when its settings changed. Raises ModelUnavailable."""
        now = self.settings
        key = (now.model, now.compaction_context_window_tokens, now.compaction_reserve_fraction)
        if self._model is None or key != self._model_key:
            name, window, reserve = key
            earlier = self._model
            self._model = await open_model(name, window=window, reserve_fraction=reserve)
            self._model_key = key
            await _closed(earlier)
        return self._model

    async def summarizer(self) -> ResolvedModel:
        """The model that writes summaries: the session's own, or `compaction_model`. Raises ModelUnavailable."""
        name = self.settings.compaction_model
        if name is None:
            return await self.model()
        if self._summarizer is None or name != self._summarizer_key:
            earlier = self._summarizer
            self._summarizer = await open_model(name)
            self._summarizer_key = name
            await _closed(earlier)
        return self._summarizer

    async def aclose(self) -> None:
        """Close the connections to the providers. Nothing may be asked of these models afterwards."""
        models = (self._model, self._summarizer)
        self._model = self._model_key = self._summarizer = self._summarizer_key = None
        for model in models:
            await _closed(model)

    @property
    def known_model(self) -> ResolvedModel | None:
        """The model as last made, None before the first turn."""
        return self._model

    @property
    def model_name(self) -> str:
        """The name of the model the next turn asks, "" if there is none to ask."""
        if self.settings.model:
            return self.settings.model
        try:
            return default_model_name()
        except ModelUnavailable:
            return ""

    def window(self) -> int:
        """The window in tokens: as the user set it, else the default or the model's own where smaller (CASCADE §2)."""
        if (chosen := self.settings.compaction_context_window_tokens) is not None:
            return chosen
        own = self._model.window if self._model is not None else None
        return min(own or DEFAULT_CONTEXT_WINDOW_TOKENS, DEFAULT_CONTEXT_WINDOW_TOKENS)

    def window_warning(self) -> str | None:
        """What to say where the user set a window above what the model declares."""
        chosen = self.settings.compaction_context_window_tokens
        own = self._model.window if self._model is not None else None
        if chosen is None or own is None or chosen <= own:
            return None
        return f"The window is set to {chosen:,} tokens; {self.model_name} declares {own:,}."

    def capabilities(self, model: ResolvedModel) -> Sequence[AbstractCapability[Any]]:
        """The tools of one run; none for a model that cannot call them."""
        return agent_capabilities(self.tools) if model.offers_tools else ()

    def workspace_instructions(self) -> Instructions:
        """AGENTS.md and MEMORY.md as they are now."""
        return self.reader.load(Caps.of(self.settings))

    def instructions(self, model: ResolvedModel) -> str:
        """The instructions of one request."""
        text = self.workspace_instructions().text
        return system_prompt(self.workspace, workspace_instructions=text, offers_tools=model.offers_tools)


async def _closed(model: ResolvedModel | None) -> None:
    if model is not None:
        await model.aclose()
