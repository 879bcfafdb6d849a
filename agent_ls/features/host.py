"""What every feature works with: the connection, the editor, the settings and, once it is needed, the sessions."""

from __future__ import annotations

import asyncio
import functools
import importlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_ls.errors import AgentError
from agent_ls.features.log import set_level
from agent_ls.features.lsp_client import LspClient
from agent_ls.file_uris import path_of
from agent_ls.garbage import never_look_again
from agent_ls.wire.server import AgentServer

if TYPE_CHECKING:
    from agent_ls.sessions import Sessions
    from agent_ls.settings import LiveSettings

logger = logging.getLogger(__name__)


class Host:
    """One server process. `sessions` imports pydantic-ai, so it is made after `initialize` was answered."""

    def __init__(self, server: AgentServer) -> None:
        self.server = server
        self.protocol = server.protocol
        self.client = LspClient(server)
        self.initial_settings: object = None
        self._sessions: asyncio.Future[Sessions] | None = None

    @functools.cached_property
    def settings(self) -> LiveSettings:
        """The settings, with what `initialize` brought. Read when first asked for: importing them takes 20 ms."""
        from agent_ls.settings import LiveSettings

        return LiveSettings.of_this_process(initialization=self.initial_settings)

    def folders(self) -> Sequence[Path]:
        """The workspace folders, resolved, in the editor's order; the root if it named none."""
        workspace = self.server.workspace
        uris = list(workspace.folders) or ([workspace.root_uri] if workspace.root_uri else [])
        return [path for uri in uris if (path := path_of(uri)) is not None]

    def begin(self) -> None:
        """Import what sessions need, in a thread, and start them. Called when the client is initialized."""
        self._sessions = asyncio.ensure_future(self._make_sessions())
        self._sessions.add_done_callback(self._say_failure)

    async def sessions(self) -> Sessions:
        """The sessions, as soon as they can be had; what kept them from starting is raised, and tried again next time.

        A client that never sends `initialized` gets them too.
        """
        if self._sessions is None or _failed(self._sessions):
            self.begin()
        assert self._sessions is not None
        return await asyncio.shield(self._sessions)

    @property
    def sessions_if_made(self) -> Sessions | None:
        """The sessions, None while they are not there."""
        made = self._sessions
        return made.result() if made is not None and made.done() and not _failed(made) else None

    def settings_changed(self) -> None:
        """The settings in force have changed: the next decision of everyone follows them."""
        set_level(self.settings.current.log_level)
        if (sessions := self.sessions_if_made) is not None:
            sessions.settings_changed()

    async def end(self, why: str) -> None:
        """The process's last job: turns stop, logs are closed, children end. Bounded by the caller."""
        self.protocol.leave()
        if (sessions := self.sessions_if_made) is not None:
            await sessions.end(write_back=why != "SIGTERM")

    async def _make_sessions(self) -> Sessions:
        module: Any = await asyncio.to_thread(importlib.import_module, "agent_ls.sessions")
        never_look_again()
        sessions: Sessions = module.Sessions(self.client, self.settings)
        await sessions.folders_changed(self.folders())
        return sessions

    def _say_failure(self, future: asyncio.Future[Sessions]) -> None:
        if future.cancelled() or (error := future.exception()) is None:
            return
        logger.error("the sessions cannot be started", exc_info=error)
        if isinstance(error, AgentError):
            self.client.show("error", error.message)


def _failed(future: asyncio.Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
