"""What a session that ends leaves in MEMORY.md: once, bounded in time, never fatal (DESIGN §7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from attrs import frozen

from agent_ls.memory.ask import Ask
from agent_ls.memory.compress import compress_memory_file, is_full
from agent_ls.memory.extract import MAX_TRANSCRIPT_CHARACTERS, append_session_summary, extract_on_exit, has_answer
from agent_ls.memory.journal import GIVE_UP_AFTER, Remembered
from agent_ls.memory.sentence import NotWorthWriting
from agent_ls.memory.store import MemoryStore
from agent_ls.protocol import SessionId

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

_logger = logging.getLogger(__name__)


@frozen
class EndedSession:
    """A session to remember. `covers` is its log's ordinal after the newest model response, `on` the day it was."""

    session_id: SessionId
    covers: int
    messages: Sequence[ModelMessage]
    on: date


@frozen
class Done:
    """Nothing is left to do for this session: `line` is its bullet, None if it leaves none, `reason` says why not."""

    line: str | None
    reason: str = ""


@frozen
class Pending:
    """It could not be finished; the next start tries again from the log."""

    reason: str


WriteBackOutcome = Done | Pending


async def write_back(
    store: MemoryStore,
    session: EndedSession,
    *,
    ask: Ask,
    enabled: bool,
    seconds: float | None = None,
    max_characters: int = MAX_TRANSCRIPT_CHARACTERS,
) -> WriteBackOutcome:
    """Ask for one sentence about the session, append it, and compress the file if it is full. Raises nothing.

    `enabled` is the setting `memory_compression_enabled`. `seconds` bounds the model calls; running out of them is no
    failure. After three failures, over as many starts, the session is done without a sentence. Doing it twice, also
    from two processes or after a kill, writes one bullet.
    """
    try:
        return await _write_back(store, session, ask, enabled, seconds, max_characters)
    except OSError as error:
        return _pending(session, f"the memory in {store.directory} cannot be used: {error.strerror or error}")


async def _write_back(
    store: MemoryStore, session: EndedSession, ask: Ask, enabled: bool, seconds: float | None, max_characters: int
) -> WriteBackOutcome:
    if not enabled:
        return await _done_without(store, session, "memory_compression_enabled is off")
    if not has_answer(session.messages):
        return await _done_without(store, session, "no model answered in this session")
    known = await asyncio.to_thread(store.remembered, session.session_id)
    if known.covers >= session.covers:
        return Done(known.line, "it was remembered before")
    ends = None if seconds is None else asyncio.get_running_loop().time() + seconds
    deadline = asyncio.timeout_at(ends)
    try:
        async with deadline:
            sentence = await extract_on_exit(session.messages, ask=ask, max_characters=max_characters)
    except NotWorthWriting as reason:
        return await _done_without(store, session, str(reason))
    # A model call fails in as many ways as there are providers, and none may be fatal at the end of a session.
    except Exception as error:  # noqa: BLE001
        if deadline.expired():
            return _pending(session, f"it took longer than {seconds} seconds")
        return await _failed(store, session, error)
    remembered = await _append(store, session, sentence)
    await _compress_if_full(store, ask, ends)
    return Done(remembered.line)


async def _compress_if_full(store: MemoryStore, ask: Ask, ends: float | None) -> None:
    """The sentence is safe by now, and a file that stays full is compressed another time."""
    try:
        async with asyncio.timeout_at(ends):
            if is_full(await asyncio.to_thread(store.read), store.caps):
                await compress_memory_file(store, ask=ask)
    except OSError as error:  # also TimeoutError
        _logger.warning("%s was not compressed: %s", store.path, str(error) or "it took too long")


async def _append(store: MemoryStore, session: EndedSession, sentence: str | None) -> Remembered:
    return await asyncio.to_thread(
        append_session_summary, store, sentence, session_id=session.session_id, covers=session.covers, on=session.on
    )


async def _done_without(store: MemoryStore, session: EndedSession, reason: str) -> WriteBackOutcome:
    remembered = await _append(store, session, None)
    _logger.info("session %s leaves no sentence: %s", session.session_id, reason)
    return Done(remembered.line, reason)


async def _failed(store: MemoryStore, session: EndedSession, error: Exception) -> WriteBackOutcome:
    reason = f"the model failed: {type(error).__name__}: {error}"
    if await asyncio.to_thread(store.note_failure, session.session_id) < GIVE_UP_AFTER:
        return _pending(session, reason)
    return await _done_without(store, session, f"{reason} (tried {GIVE_UP_AFTER} times)")


def _pending(session: EndedSession, reason: str) -> Pending:
    _logger.warning("session %s is not yet remembered: %s", session.session_id, reason)
    return Pending(reason)
