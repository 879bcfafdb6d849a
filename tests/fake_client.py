"""A double of the editor: the whole `Client` port in memory, with answers scripted by the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from attrs import define, evolve, field, frozen

from agent_ls.client import EditOutcome, OpenDocument
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
class Question:
    """One permission question as the editor got it."""

    session_id: SessionId
    tool_call: ToolCall
    options: Sequence[PermissionOption]

    def option(self, option_id: str) -> PermissionOption:
        return next(option for option in self.options if option.option_id == option_id)


Answer = PermissionOutcome | Callable[[Question], PermissionOutcome]


def choose(option_id: str, reason: str | None = None) -> PermissionOutcome:
    """The answer of a person who picks an option."""
    return PermissionOutcome("selected", option_id, reason)


CANCELLED = PermissionOutcome("cancelled")


@define
class FakeClient:
    """An editor that keeps what it is told. Unscripted questions are not answered, which means no."""

    answers: list[Answer] = field(factory=list)
    otherwise: PermissionOutcome = CANCELLED
    refuse_edits: str | None = None
    # As Neovim does: an accepted edit shows in `open_documents` only after `flush`.
    late_changes: bool = False
    updates: list[UpdateNotification] = field(factory=list)
    gauges: list[Gauge] = field(factory=list)
    compactions: list[CompactionEvent] = field(factory=list)
    logged: list[tuple[str, str]] = field(factory=list)
    shown: list[tuple[str, str]] = field(factory=list)
    questions: list[Question] = field(factory=list)
    edits: list[tuple[Path, str, str]] = field(factory=list)
    # Set while a question is open, so that a test can act meanwhile.
    asked: asyncio.Event = field(factory=asyncio.Event)
    hold: asyncio.Event | None = None
    _documents: dict[Path, OpenDocument] = field(factory=dict)
    _late: list[OpenDocument] = field(factory=list)

    # --- what a test does ------------------------------------------------------------------------------------------

    def open(self, path: Path, text: str, version: int | None = 1) -> OpenDocument:
        document = OpenDocument(path=path.resolve(), uri=path.resolve().as_uri(), text=text, version=version)
        self._documents[document.path] = document
        return document

    def type(self, path: Path, text: str) -> None:
        """The person changes an open document."""
        document = self._documents[path.resolve()]
        self._documents[document.path] = evolve(document, text=text, version=(document.version or 0) + 1)

    def close(self, path: Path) -> None:
        del self._documents[path.resolve()]

    def flush(self) -> None:
        """Deliver the changes held back by `late_changes`."""
        for document in self._late:
            self._documents[document.path] = document
        self._late.clear()

    # --- the port --------------------------------------------------------------------------------------------------

    def update(self, notification: UpdateNotification) -> None:
        self.updates.append(notification)

    def gauge(self, gauge: Gauge) -> None:
        self.gauges.append(gauge)

    def compaction(self, event: CompactionEvent) -> None:
        self.compactions.append(event)

    def log(self, level: Literal["error", "warning", "info", "debug"], message: str) -> None:
        self.logged.append((level, message))

    def show(self, level: Literal["error", "warning", "info"], message: str) -> None:
        self.shown.append((level, message))

    def open_documents(self) -> Mapping[Path, OpenDocument]:
        return dict(self._documents)

    async def apply_edit(self, document: OpenDocument, new_text: str, label: str) -> EditOutcome:
        if self.refuse_edits is not None:
            return EditOutcome(False, self.refuse_edits)
        current = self._documents.get(document.path)
        if current is None or current.version != document.version:
            return EditOutcome(False, "the document has changed")
        self.edits.append((document.path, new_text, label))
        changed = evolve(current, text=new_text, version=(current.version or 0) + 1)
        if self.late_changes:
            self._late.append(changed)
        else:
            self._documents[document.path] = changed
        return EditOutcome(True)

    async def request_permission(
        self, session_id: SessionId, tool_call: ToolCall, options: Sequence[PermissionOption]
    ) -> PermissionOutcome:
        question = Question(session_id, tool_call, options)
        self.questions.append(question)
        self.asked.set()
        if self.hold is not None:
            await self.hold.wait()
        answer = self.answers.pop(0) if self.answers else self.otherwise
        return answer(question) if callable(answer) else answer
