"""What a turn's agent is made of: the model by its setting, the session's tools, the instructions of the moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field
from pydantic_ai.capabilities import AbstractCapability

from agent_ls import local_model
from agent_ls.client import Client
from agent_ls.errors import ModelUnavailable
from agent_ls.history import History
from agent_ls.log.directory import outputs_directory
from agent_ls.memory.clip import Caps
from agent_ls.memory.instructions import InstructionReader, Instructions
from agent_ls.models import LOCAL, ResolvedModel, default_model_name, open_model
from agent_ls.protocol import Plan, ToolCallUpdate
from agent_ls.settings import DEFAULT_CONTEXT_WINDOW_TOKENS, LiveSettings, Settings
from agent_ls.system_prompt import system_prompt
from agent_ls.tools.approvals import ApprovalFile, default_path
from agent_ls.tools.capabilities import agent_capabilities
from agent_ls.tools.environment import ToolEnvironment
from agent_ls.tools.permissions import PermissionPolicy
from agent_ls.updates import ToolCallIds


@define
class _OpenModel:
    """A model that is open for as long as its settings stay the same; an earlier one until nothing can use it."""

    model: ResolvedModel | None = None
    _of: tuple[str | None, int | None, float] | None = None
    _replaced: list[ResolvedModel] = field(factory=list)

    async def get(self, name: str | None, window: int | None = None, reserve_fraction: float = 0.20) -> ResolvedModel:
        """The model of these. Raises ModelUnavailable; then the one there was stays."""
        wanted = (name, window, reserve_fraction)
        if self.model is None or wanted != self._of:
            model = await open_model(name, window=window, reserve_fraction=reserve_fraction)
            if self.model is not None:
                self._replaced.append(self.model)
            self.model, self._of = model, wanted
        return self.model

    async def give_back(self, *, replaced_ones_only: bool = False) -> None:
        """They are used no more."""
        if self.model is not None and not replaced_ones_only:
            self._replaced.append(self.model)
            self.model = None
        while self._replaced:
            await self._replaced.pop().aclose()


@define
class TurnSetup:
    """One session's ingredients. Instructions are read for every request; unchanged files cost a stat each."""

    workspace: Path
    live_settings: LiveSettings
    tools: ToolEnvironment
    reader: InstructionReader
    _model: _OpenModel = field(init=False, factory=_OpenModel)
    _summarizer: _OpenModel = field(init=False, factory=_OpenModel)

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
        """The model of a turn that begins, made anew when its settings changed. Raises ModelUnavailable."""
        for each in (self._model, self._summarizer):
            await each.give_back(replaced_ones_only=True)
        return await self._sessions_own()

    async def summarizer(self) -> ResolvedModel:
        """The model that writes summaries: the session's own, or `compaction_model`. Raises ModelUnavailable.

        Settings may have changed in the turn: the model that answers in it stays open.
        """
        name = self.settings.compaction_model
        return await self._sessions_own() if name is None else await self._summarizer.get(name)

    async def _sessions_own(self) -> ResolvedModel:
        now = self.settings
        return await self._model.get(now.model, now.compaction_context_window_tokens, now.compaction_reserve_fraction)

    async def aclose(self) -> None:
        """Close the connections to the providers. Nothing may be asked of these models afterwards."""
        await self._model.give_back()
        await self._summarizer.give_back()

    @property
    def known_model(self) -> ResolvedModel | None:
        """The model as last made, None before the first turn."""
        return self._model.model

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
        return min(self._declared_window or DEFAULT_CONTEXT_WINDOW_TOKENS, DEFAULT_CONTEXT_WINDOW_TOKENS)

    @property
    def _declared_window(self) -> int | None:
        """The model's own, None where nobody knows; of another than `local` it is known from the first turn on."""
        if (model := self._model.model) is not None:
            return model.window
        return local_model.CONTEXT_WINDOW if self.model_name == LOCAL else None

    def window_warning(self) -> str | None:
        """What to say where the user set a window above what the model declares."""
        chosen = self.settings.compaction_context_window_tokens
        own = self._declared_window
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
