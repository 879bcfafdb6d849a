"""Which session serves a request: workspace folder, document or session id to session (PROTOCOL "Requests")."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from agent_ls import __version__
from agent_ls.cancellation import despite_cancel
from agent_ls.client import Client
from agent_ls.command_replies import run_command
from agent_ls.errors import AgentError, ModelUnavailable, SessionNotFound
from agent_ls.file_uris import path_of, resolved
from agent_ls.models import open_model
from agent_ls.prompt_content import plain_text
from agent_ls.protocol import (
    PROTOCOL_VERSION,
    CompactParams,
    CompactResult,
    ContextResult,
    DeleteParams,
    EffectiveSetting,
    GaugeWarning,
    MemoryResult,
    PromptParams,
    PromptResult,
    ResumeParams,
    SessionEnded,
    SessionId,
    SessionOpened,
    SessionParams,
    SessionsResult,
    StatusResult,
    SteerParams,
    SteerResult,
    TextDocumentIdentifier,
    UndoResult,
)
from agent_ls.session import Session
from agent_ls.settings import LiveSettings
from agent_ls.settings.schema import CAMEL_NAMES
from agent_ls.slash_commands import parse
from agent_ls.workspace_folder import LATEST, WorkspaceFolder

logger = logging.getLogger(__name__)


class Sessions:
    """All sessions of one server. Belongs to its event loop; methods raise AgentError."""

    def __init__(self, client: Client, settings: LiveSettings) -> None:
        self._client = client
        self._settings = settings
        self._folders: dict[Path, WorkspaceFolder] = {}

    async def folders_changed(self, folders: Sequence[Path]) -> None:
        """These are the folders the editor has open now. Each new one gets a gauge, and memories left over are written.

        The sessions of a closed one end, unless a turn runs there.
        One that has no place for a log is said and keeps none of the others; its first request tries again.
        """
        for path in set(self._folders) - set(folders):
            if (active := self._folders[path].active) is None or not active.is_busy:
                await self._folders.pop(path).close()
        for path in folders:
            if path not in self._folders:
                folder = self._folders[path] = WorkspaceFolder(path, self._client, self._settings)
                try:
                    folder.session().publish_gauge()
                    folder.finish_pending_memories()
                except AgentError as error:
                    logger.warning("%s cannot be served yet: %s", path, error.message)
                    self._client.show("error", error.message)

    def settings_changed(self) -> None:
        """Every gauge follows the new settings at once (CASCADE §8, FAULTS 14)."""
        for folder in self._folders.values():
            if folder.active is not None:
                folder.active.publish_gauge()

    # --- conversation -------------------------------------------------------------------------------------------------

    async def prompt(self, params: PromptParams, *, cancelled: bool = False) -> PromptResult:
        """Run a turn, or the command the prompt is; neither if it was `cancelled` before it got here."""
        if (found := self._active_now(params)) is not None:
            folder, session = found
        else:
            (folder, session), meanwhile = await despite_cancel(self._session(params, resume=True))
            cancelled = cancelled or meanwhile
        if cancelled:
            return session.cancelled()
        command = parse(plain_text(params.prompt))
        if command is not None:
            return await run_command(command, plain_text(params.prompt), folder, session)
        return await session.prompt(params.prompt, queue=params.when_busy == "queue")

    async def compact(self, params: CompactParams) -> CompactResult:
        """Full compaction by hand."""
        _, session = await self._session(params)
        return await session.compact(params.focus)

    async def undo_compaction(self, params: SessionParams) -> UndoResult:
        """Take back the last checkpoint."""
        _, session = await self._session(params)
        return await session.undo_compaction()

    def steer(self, params: SteerParams) -> SteerResult:
        """Add a message to the running turn."""
        return SteerResult(self._active(params.session_id).steer(params.prompt))

    def cancel(self, session_id: SessionId) -> None:
        """Stop what runs in an active session; nothing for one that is not."""
        if (folder := self._folder_where_active(session_id)) is not None and folder.active is not None:
            folder.active.cancel()

    async def context(self, params: SessionParams) -> ContextResult:
        """What fills the window."""
        _, session = await self._session(params)
        return session.context()

    # --- sessions -----------------------------------------------------------------------------------------------------

    async def list(self, params: SessionParams) -> SessionsResult:
        """The sessions of a folder, newest first."""
        return SessionsResult(await (await self._folder_for(params)).list())

    async def new(self, params: SessionParams) -> SessionOpened:
        """End the active session and begin a new one."""
        session = await (await self._folder_for(params)).new()
        return session.opened()

    async def resume(self, params: ResumeParams) -> SessionOpened:
        """Make an older session the active one of its folder."""
        if params.session_id == LATEST or params.workspace is not None or len(self._folders) == 1:
            folder = self._folder(params.workspace, params.text_document)
        else:
            folder = await self._folder_of(params.session_id)
        return (await folder.resume(params.session_id)).opened()

    async def close(self, params: SessionParams) -> SessionEnded:
        """End the active session."""
        folder, session = await self._session(params)
        await folder.close()
        return SessionEnded(session.session_id)

    async def delete(self, params: DeleteParams) -> SessionEnded:
        """Delete a session's log."""
        folder = self._folder(params.workspace, None) if params.workspace else await self._folder_of(params.session_id)
        await folder.delete(params.session_id)
        return SessionEnded(params.session_id)

    async def memory(self, params: SessionParams) -> MemoryResult:
        """The folder's memory file."""
        return await (await self._folder_for(params)).memory()

    async def status(self, params: SessionParams) -> StatusResult:
        """What is in force: what `agent-ls doctor` shows."""
        effective = self._settings.effective
        try:
            model = await open_model(effective.settings.model)
            name, available, message = model.name, True, f"{model.name} is ready to be asked."
            await model.aclose()
        except ModelUnavailable as error:
            name, available, message = effective.settings.model or "", False, error.message
        folder = await self._folder_for(params)
        return StatusResult(
            version=__version__,
            protocol_version=PROTOCOL_VERSION,
            model=name,
            model_available=available,
            model_message=message,
            settings=[
                EffectiveSetting(wire_name, getattr(effective.settings, python_name), effective.origins[python_name])
                for python_name, wire_name in CAMEL_NAMES.items()
            ],
            warnings=[GaugeWarning("settings", message) for message in effective.messages],
            sessions=await folder.list(),
            log_path=str(folder.active.history.path) if folder.active is not None else None,
        )

    # --- the end ------------------------------------------------------------------------------------------------------

    async def shutdown(self, seconds: float) -> None:
        """`shutdown`: turns are cancelled, logs closed, and memories written as far as `seconds` go."""
        await asyncio.gather(*(folder.shutdown(seconds) for folder in self._folders.values()))

    async def end(self, *, write_back: bool) -> None:
        """The process ends. Without a `shutdown` before, this is one, with the time there is."""

        async def end(folder: WorkspaceFolder) -> None:
            await folder.shutdown(2.0 if write_back else 0.0)
            folder.abandon()

        await asyncio.gather(*map(end, self._folders.values()))

    # --- finding ------------------------------------------------------------------------------------------------------

    async def _session(
        self, params: PromptParams | CompactParams | SessionParams, *, resume: bool = False
    ) -> tuple[WorkspaceFolder, Session]:
        """The session of a request. One that is not active becomes it with `resume`, and is not found without."""
        if params.session_id is None:
            folder = self._folder(params.workspace, params.text_document)
            return folder, await folder.current()
        active = self._folder_where_active(params.session_id)
        if active is not None and active.active is not None:
            return active, active.active
        folder = await self._folder_of(params.session_id)
        if not resume:
            raise SessionNotFound(
                f"The session {params.session_id} is not active: resume it first.", session_id=params.session_id
            )
        return folder, await folder.resume(params.session_id)

    def _active_now(self, params: PromptParams) -> tuple[WorkspaceFolder, Session] | None:
        """A prompt's session where nothing has to be waited for: a cancel right behind it has to find it at work."""
        if params.session_id is None:
            folder = self._folder(params.workspace, params.text_document)
        elif (where := self._folder_where_active(params.session_id)) is not None:
            folder = where
        else:
            return None
        return None if folder.is_changing else (folder, folder.session())

    def _active(self, session_id: SessionId) -> Session:
        folder = self._folder_where_active(session_id)
        if folder is None or folder.active is None:
            raise SessionNotFound(f"No active session has the id {session_id}.", session_id=session_id)
        return folder.active

    def _folder_where_active(self, session_id: SessionId) -> WorkspaceFolder | None:
        for folder in self._folders.values():
            if folder.active is not None and folder.active.session_id == session_id:
                return folder
        return None

    async def _folder_for(self, params: SessionParams) -> WorkspaceFolder:
        if params.session_id is not None:
            return await self._folder_of(params.session_id)
        return self._folder(params.workspace, params.text_document)

    async def _folder_of(self, session_id: SessionId) -> WorkspaceFolder:
        for folder in self._folders.values():
            if await folder.has(session_id):
                return folder
        raise SessionNotFound(f"No session of the open folders has the id {session_id}.", session_id=session_id)

    def _folder(self, workspace: str | None, document: TextDocumentIdentifier | None) -> WorkspaceFolder:
        if workspace is not None:
            return self._opened(self._path(workspace))
        if len(self._folders) != 1 and document is not None:
            path = self._path(document.uri)
            holding = [folder for folder in self._folders if path.is_relative_to(folder)]
            if holding:
                return self._folders[max(holding, key=lambda folder: len(folder.parts))]
        if self._folders:
            return next(iter(self._folders.values()))
        return self._opened(Path.cwd())

    def _opened(self, path: Path) -> WorkspaceFolder:
        """The folder at `path`; a client without workspace folders may name any directory."""
        if path not in self._folders:
            if not _is_folder(path):
                raise SessionNotFound(f"{path} is not a folder.")
            self._folders[path] = WorkspaceFolder(path, self._client, self._settings)
        return self._folders[path]

    def _path(self, uri: str) -> Path:
        path = path_of(uri) if "://" in uri else resolved(uri)
        if path is None:
            raise SessionNotFound(f"{uri!r} is not the URI of a file or folder.")
        return path


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # its name is too long for a file system
        return False
