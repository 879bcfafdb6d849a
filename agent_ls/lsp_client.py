"""The editor, reached over LSP: implements the port `agent_ls.client.Client`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from agent_ls.client import EditOutcome, OpenDocument
from agent_ls.line_edit import line_edit
from agent_ls.protocol import (
    COMPACTION,
    REQUEST_PERMISSION,
    ClientAbilities,
    CompactionEvent,
    Gauge,
    PermissionOption,
    PermissionOutcome,
    RequestPermissionParams,
    RequestPermissionResult,
    SessionId,
    ToolCall,
    UpdateNotification,
)
from agent_ls.wire.converter import BadParams, structure, unstructure
from agent_ls.wire.jsonrpc import AgentProtocol

logger = logging.getLogger(__name__)

_NOBODY_ANSWERED: Final = PermissionOutcome("cancelled")
_MESSAGE_TYPES: Final = {
    "error": types.MessageType.Error,
    "warning": types.MessageType.Warning,
    "info": types.MessageType.Info,
    "debug": types.MessageType.Debug,
}


class LspClient:
    """What the client can do is known after `initialize`; before that it can do nothing."""

    def __init__(self, server: LanguageServer, protocol: AgentProtocol) -> None:
        self._server = server
        self._protocol = protocol
        self._gone = asyncio.Event()
        self.abilities = ClientAbilities()

    def leave(self) -> None:
        """The client is gone: every open question is answered with no."""
        self._gone.set()

    # --- notifications ------------------------------------------------------------------------------------------------

    def update(self, notification: UpdateNotification) -> None:
        """See `Client.update`."""
        if self.abilities.update and self._protocol.outbox is not None:
            self._protocol.outbox.put(notification)

    def gauge(self, gauge: Gauge) -> None:
        """See `Client.gauge`."""
        if self.abilities.gauge and self._protocol.outbox is not None:
            self._protocol.outbox.put(gauge)

    def compaction(self, event: CompactionEvent) -> None:
        """See `Client.compaction`."""
        if self.abilities.compaction:
            self._protocol.notify(COMPACTION, unstructure(event))

    def log(self, level: Literal["error", "warning", "info", "debug"], message: str) -> None:
        """See `Client.log`."""
        self._server.window_log_message(types.LogMessageParams(type=_MESSAGE_TYPES[level], message=message))

    def show(self, level: Literal["error", "warning", "info"], message: str) -> None:
        """See `Client.show`."""
        self._server.window_show_message(types.ShowMessageParams(type=_MESSAGE_TYPES[level], message=message))

    # --- documents ----------------------------------------------------------------------------------------------------

    def open_documents(self) -> Mapping[Path, OpenDocument]:
        """See `Client.open_documents`."""
        found = {}
        for uri, document in self._server.workspace.text_documents.items():
            if (name := to_fs_path(uri)) is not None:
                path = Path(name).resolve()
                found[path] = OpenDocument(path, uri, document.source, document.version)
        return found

    async def apply_edit(self, document: OpenDocument, new_text: str, label: str) -> EditOutcome:
        """See `Client.apply_edit`."""
        known = self._server.workspace.text_documents.get(document.uri)
        if known is None or known.source != document.text:
            return EditOutcome(False, "the document has changed in the editor")
        edit = line_edit(document.text, new_text)
        params = types.ApplyWorkspaceEditParams(label=label, edit=self._workspace_edit(document, edit))
        try:
            result = await self._answered(self._server.workspace_apply_edit_async(params))
        except JsonRpcException as error:
            return EditOutcome(False, f"the editor refused the edit: {error.message}")
        if result is None:
            return EditOutcome(False, "the editor is gone")
        return EditOutcome(result.applied, None if result.applied else result.failure_reason or "the editor refused it")

    def _workspace_edit(self, document: OpenDocument, edit: types.TextEdit) -> types.WorkspaceEdit:
        workspace = self._server.client_capabilities.workspace
        abilities = workspace.workspace_edit if workspace else None
        if abilities is not None and abilities.document_changes:
            identifier = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
            return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, [edit])])
        return types.WorkspaceEdit(changes={document.uri: [edit]})

    # --- questions ----------------------------------------------------------------------------------------------------

    async def request_permission(
        self, session_id: SessionId, tool_call: ToolCall, options: Sequence[PermissionOption]
    ) -> PermissionOutcome:
        """See `Client.request_permission`."""
        try:
            if self.abilities.permission:
                return await self._ask_client(RequestPermissionParams(session_id, tool_call, options))
            if self._can_show_requests():
                return await self._ask_with_message(tool_call, options)
        except JsonRpcException as error:
            logger.warning("the client could not ask for permission: %s", error)
        return _NOBODY_ANSWERED

    async def _ask_client(self, params: RequestPermissionParams) -> PermissionOutcome:
        answer = await self._answered(self._protocol.send_request_async(REQUEST_PERMISSION, unstructure(params)))
        try:
            return structure(answer, RequestPermissionResult).outcome
        except BadParams as bad:
            logger.warning("the client's answer about permission cannot be read: %s", bad)
            return _NOBODY_ANSWERED

    async def _ask_with_message(self, tool_call: ToolCall, options: Sequence[PermissionOption]) -> PermissionOutcome:
        params = types.ShowMessageRequestParams(
            type=types.MessageType.Info,
            message=f"agent-ls asks: {tool_call.title}",
            actions=[types.MessageActionItem(title=option.name) for option in options],
        )
        chosen = await self._answered(self._server.window_show_message_request_async(params))
        option = next((option for option in options if chosen is not None and option.name == chosen.title), None)
        return PermissionOutcome("selected", option.option_id) if option is not None else _NOBODY_ANSWERED

    def _can_show_requests(self) -> bool:
        window = self._server.client_capabilities.window
        return window is not None and window.show_message is not None

    async def _answered(self, answer: Any) -> Any:
        """The answer, None if the client leaves before it gives one."""
        waiting = asyncio.ensure_future(answer)
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
            return waiting.result() if waiting.done() else None
        finally:
            for task in (waiting, gone):
                task.cancel()
