"""The editor, reached over LSP: implements the port `agent_ls.client.Client`."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from agent_ls.client import EditOutcome, OpenDocument
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
    ToolCallDiff,
    ToolCallText,
    UpdateNotification,
)
from agent_ls.wire.converter import BadParams, structure, unstructure
from agent_ls.wire.documents import line_edit
from agent_ls.wire.jsonrpc import Unanswered
from agent_ls.wire.server import AgentServer

logger = logging.getLogger(__name__)

_NOBODY_ANSWERED: Final = PermissionOutcome("cancelled")
_MOST_MESSAGE_LINES: Final = 40
_MOST_LINE_CHARACTERS: Final = 200
_MESSAGE_TYPES: Final = {
    "error": types.MessageType.Error,
    "warning": types.MessageType.Warning,
    "info": types.MessageType.Info,
    "debug": types.MessageType.Debug,
}


class LspClient:
    """What the client can do is known after `initialize`; before that it can do nothing."""

    def __init__(self, server: AgentServer) -> None:
        self._server = server
        self._protocol = server.protocol
        self.abilities = ClientAbilities()

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
        return self._protocol.documents.by_path()

    async def apply_edit(self, document: OpenDocument, new_text: str, label: str) -> EditOutcome:
        """See `Client.apply_edit`.

        A client that knows versions refuses the edit itself if the person typed meanwhile; for another, what it sent
        before it answered is looked at.
        """
        if self._protocol.documents.get(document.uri) != document:
            return EditOutcome(False, "the document has changed in the editor")
        edit = line_edit(document.text, new_text)
        params = types.ApplyWorkspaceEditParams(label=label, edit=self._workspace_edit(document, edit))
        try:
            result = await self._protocol.ask(types.WORKSPACE_APPLY_EDIT, params)
        except JsonRpcException as error:
            return EditOutcome(False, f"the editor refused the edit: {error.message}")
        except Unanswered:
            return EditOutcome(False, "the editor is gone")
        if not result.applied:
            return EditOutcome(False, result.failure_reason or "the editor refused it")
        after = self._protocol.documents.get(document.uri)
        if not self._checks_versions() and after is not None and after.text not in (document.text, new_text):
            return EditOutcome(False, "the document changed in the editor while it was edited; read it again")
        return EditOutcome(True)

    def _workspace_edit(self, document: OpenDocument, edit: types.TextEdit) -> types.WorkspaceEdit:
        if self._checks_versions():
            identifier = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
            return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, [edit])])
        return types.WorkspaceEdit(changes={document.uri: [edit]})

    def _checks_versions(self) -> bool:
        workspace = self._server.client_capabilities.workspace
        abilities = workspace.workspace_edit if workspace is not None else None
        return abilities is not None and bool(abilities.document_changes)

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
        except Unanswered:
            logger.info("the client left before it answered")
        return _NOBODY_ANSWERED

    async def _ask_client(self, params: RequestPermissionParams) -> PermissionOutcome:
        answer = await self._protocol.ask(REQUEST_PERMISSION, unstructure(params))
        try:
            outcome = structure(answer, RequestPermissionResult).outcome
        except BadParams as bad:
            logger.warning("the client's answer about permission cannot be read: %s", bad)
            return _NOBODY_ANSWERED
        if outcome.outcome == "selected" and outcome.option_id not in {each.option_id for each in params.options}:
            logger.warning("the client selected %r, which was no option", outcome.option_id)
            return _NOBODY_ANSWERED
        return outcome

    async def _ask_with_message(self, tool_call: ToolCall, options: Sequence[PermissionOption]) -> PermissionOutcome:
        params = types.ShowMessageRequestParams(
            type=types.MessageType.Info,
            message=_question(tool_call),
            actions=[types.MessageActionItem(title=option.name) for option in options],
        )
        chosen: Any = await self._protocol.ask(types.WINDOW_SHOW_MESSAGE_REQUEST, params)
        option = next((option for option in options if chosen is not None and option.name == chosen.title), None)
        return PermissionOutcome("selected", option.option_id) if option is not None else _NOBODY_ANSWERED

    def _can_show_requests(self) -> bool:
        window = self._server.client_capabilities.window
        return window is not None and window.show_message is not None


def _question(tool_call: ToolCall) -> str:
    """The question for a client that can only show a message: what is to be done, with its diff, bounded."""
    lines = [f"agent-ls asks: {tool_call.title}"]
    for content in tool_call.content or ():
        match content:
            case ToolCallDiff():
                lines += _diff(content)
            case ToolCallText():
                lines += content.content.text.splitlines()
    if len(lines) > _MOST_MESSAGE_LINES:
        lines = [*lines[:_MOST_MESSAGE_LINES], f"… {len(lines) - _MOST_MESSAGE_LINES} more lines"]
    return "\n".join(
        line if len(line) <= _MOST_LINE_CHARACTERS else f"{line[: _MOST_LINE_CHARACTERS - 1]}…" for line in lines
    )


def _diff(change: ToolCallDiff) -> Iterator[str]:
    before, after = (change.old_text or "").splitlines(), change.new_text.splitlines()
    return difflib.unified_diff(before, after, change.path, change.path, lineterm="", n=1)
