"""Sessions and the memory: what an ended session leaves, now or at the next start (DESIGN §7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from agent_ls.cancellation import despite_cancel
from agent_ls.errors import AgentError
from agent_ls.history import History
from agent_ls.log.catalog import list_sessions, write_back_pending
from agent_ls.memory.ask import ask_of
from agent_ls.memory.store import MemoryStore
from agent_ls.memory.write_back import Done, EndedSession, Pending, WriteBackOutcome, write_back
from agent_ls.models import LOCAL, open_model
from agent_ls.protocol import SessionId
from agent_ls.settings import Settings

logger = logging.getLogger(__name__)

_MODEL_SECONDS: Final = 60.0


async def remember(history: History, store: MemoryStore, settings: Settings, on: date | None = None) -> None:
    """Write one session's sentence and mark it in the log; closes the history. Never raises but CancelledError."""
    try:
        if not history.write_back_pending:
            return
        ended = EndedSession(
            session_id=history.session_id,
            covers=history.totals.answered,
            messages=history.messages,
            on=on or datetime.now(UTC).date(),
        )
        outcome = await _write_back(store, ended, settings)
        match outcome:
            case Done(line=line):
                history.record_memory(line)
            case Pending(reason=reason):
                logger.info("session %s will be remembered at the next start: %s", history.session_id, reason)
    except AgentError as error:
        logger.info("session %s will be remembered at the next start: %s", history.session_id, error)
    finally:
        history.close()


async def _write_back(store: MemoryStore, ended: EndedSession, settings: Settings) -> WriteBackOutcome:
    if not settings.memory_compression_enabled:  # then no model is needed, nor a key
        return await write_back(store, ended, ask=_nobody, enabled=False)
    model = await open_model(
        settings.compaction_model or settings.model, window=settings.compaction_context_window_tokens
    )
    try:
        # What `local` says of a session is not true, and a better model would read it for weeks.
        can = model.name != LOCAL
        return await write_back(store, ended, ask=ask_of(model.model), enabled=can, seconds=_MODEL_SECONDS)
    finally:
        await model.aclose()


async def _nobody(*_: object, **__: object) -> str:
    raise AssertionError("no model is asked when the memory is off")


async def remember_left_over(
    sessions: Path,
    own: Container[SessionId],
    store: MemoryStore,
    settings: Settings,
    on_tried: Callable[[SessionId], None],
) -> None:
    """The same for sessions of this folder whose servers were killed before they could, each dated when it ended.

    Only for `own` ones: a log that a repository brought is nothing to ask a model about. `on_tried` is told of each
    that was remembered or could not be; not of one that is open in another server, which will do it.
    """
    rows = await asyncio.to_thread(list_sessions, sessions)
    for row in rows:
        if row.session_id in own and await asyncio.to_thread(write_back_pending, row.path):
            try:
                history = await resumed(row.path)
            except AgentError as error:
                # Open in another server, which will do it.
                logger.debug("session %s is left alone: %s", row.session_id, error)
                continue
            await remember(history, store, settings, row.updated.date())
            on_tried(row.session_id)


async def resumed(log: Path) -> History:
    """`History.resume` in a thread. A cancel leaves no log open behind it."""
    history, cancelled = await despite_cancel(asyncio.to_thread(History.resume, log))
    if cancelled:
        history.close()
        raise asyncio.CancelledError
    return history
