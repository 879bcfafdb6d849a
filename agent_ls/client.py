"""What the agent asks of the editor that hosts it: a port, implemented over LSP by `agent_ls.server`.

Everything below the server talks to this protocol, so sessions, turns and tools know no pygls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from attrs import frozen

from agent_ls.protocol import (
    CompactionEvent,
    Gauge,
    PermissionOption,
    PermissionOutcome,
    SessionId,
    ToolCall,
    UpdateNotification,
)


@frozen
class OpenDocument:
    """A document the editor holds open: its text wins over the disk. `version` is LSP's, None if it gave none."""

    path: Path
    uri: str
    text: str
    version: int | None


@frozen
class EditOutcome:
    """Whether the editor applied an edit, and why not."""

    applied: bool
    reason: str | None = None


class Client(Protocol):
    """The editor, as a session sees it. Notifications never raise: a client that is gone is the server's matter."""

    def update(self, notification: UpdateNotification) -> None:
        """Send `agent/update`."""

    def gauge(self, gauge: Gauge) -> None:
        """Send `agent/gauge`."""

    def compaction(self, event: CompactionEvent) -> None:
        """Send `agent/compaction`."""

    def log(self, level: Literal["error", "warning", "info", "debug"], message: str) -> None:
        """Send `window/logMessage`."""

    def show(self, level: Literal["error", "warning", "info"], message: str) -> None:
        """Send `window/showMessage`: only for what a person must know."""

    def open_documents(self) -> Mapping[Path, OpenDocument]:
        """The open documents by resolved path, as the last didOpen/didChange left them."""

    async def apply_edit(self, document: OpenDocument, new_text: str, label: str) -> EditOutcome:
        """`workspace/applyEdit` of an open document from `document.text` to `new_text`, checked against its version.

        `applied` is False when the editor refuses, cannot, or the document has changed since `document`.
        """

    async def request_permission(
        self, session_id: SessionId, tool_call: ToolCall, options: Sequence[PermissionOption]
    ) -> PermissionOutcome:
        """Ask a person. Without an answer, an ability or a connection: `cancelled`, which means no."""
