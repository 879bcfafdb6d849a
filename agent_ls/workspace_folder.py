"""One workspace folder: its active session, its older ones on disk, its memory (DESIGN §4, §7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from agent_ls.cancellation import cancel_once
from agent_ls.client import Client
from agent_ls.errors import SessionBusy, SessionNotFound
from agent_ls.garbage import never_look_again
from agent_ls.history import History
from agent_ls.log.catalog import delete_session, find_session, latest_session, list_sessions
from agent_ls.log.directory import SessionDirectory, session_directory
from agent_ls.log.own_sessions import OwnSessions
from agent_ls.memory.by_hand import read_memory
from agent_ls.memory.by_hand import remember as remember_by_hand
from agent_ls.memory.clip import Caps
from agent_ls.memory.store import MemoryStore
from agent_ls.protocol import MemoryResult, SessionId, SessionSummary
from agent_ls.remembering import remember, remember_left_over, resumed
from agent_ls.session import Session
from agent_ls.settings import LiveSettings
from agent_ls.tools.output import LongOutputs

logger = logging.getLogger(__name__)

_STOPPING_SECONDS: Final = 2.0
LATEST: Final = SessionId("latest")
_BEGUN_ELSEWHERE: Final = (
    "This session was begun elsewhere: its log came with the folder, or from another user. "
    "It is one of yours from now on; what it says you said may not be yours."
)


@define
class WorkspaceFolder:
    """The sessions of one folder. Listing and deleting read files, in a thread."""

    path: Path
    client: Client
    settings: LiveSettings
    own_sessions: OwnSessions = field(factory=OwnSessions.of_this_user)
    _directory: SessionDirectory | None = field(init=False, default=None)
    _active: Session | None = field(init=False, default=None)
    _farewells: set[asyncio.Task[None]] = field(init=False, factory=set)
    _tried: set[SessionId] = field(init=False, factory=set)
    """Sessions whose write-back this process has made, or failed to make: three starts may try, not three resumes."""
    _changing: asyncio.Lock = field(init=False, factory=asyncio.Lock)
    """Held while another session becomes the active one."""

    @property
    def is_changing(self) -> bool:
        """Whether another session is about to become the active one."""
        return self._changing.locked()

    @property
    def active(self) -> Session | None:
        """The active session, None before the first is needed."""
        return self._active

    def session(self) -> Session:
        """The active session; a new one if there is none."""
        if self._active is None:
            self._active = self._opened(History.create(self.path, directory=self._sessions_directory))
            self.own_sessions.add(self._active.session_id)
        return self._active

    async def current(self) -> Session:
        """As `session`, behind a change of session that was asked for before."""
        async with self._changing:
            return self.session()

    async def new(self) -> Session:
        """End the active session and begin a new one. Raises SessionBusy while a turn runs."""
        async with self._changing:
            await self.close()
            return self.session()

    async def resume(self, session_id: SessionId) -> Session:
        """Make an older session the active one; `latest` is the newest of the person's own, or the active one.

        One that was begun elsewhere, such as by a repository that brought its log, is only opened by its id.
        Raises SessionNotFound, SessionLocked, LogUnwritable, and SessionBusy while a turn runs.
        """
        async with self._changing:
            return await self._resume(session_id)

    async def _resume(self, session_id: SessionId) -> Session:
        if (active := self._active) is not None and (
            session_id == active.session_id or (session_id == LATEST and active.history.messages)
        ):
            return active
        own = await asyncio.to_thread(self.own_sessions.ids)
        newest = latest_session(self._sessions_directory, own) if session_id == LATEST else None
        path = newest or find_session(self._sessions_directory, session_id)
        self._refuse_while_busy()
        # A session that is still being remembered is closed for us; what is left of that is done behind it.
        await self._stop_farewells()
        try:
            history = await resumed(path)
            never_look_again()  # at its messages
            try:
                await self.close()
                self._active = self._opened(history)
            except BaseException:
                history.close()  # else its log would stay locked
                raise
        finally:
            self.finish_pending_memories()
        if history.session_id not in own:
            self.own_sessions.add(history.session_id)
            self.client.show("info", _BEGUN_ELSEWHERE)
        return self._active

    def _refuse_while_busy(self) -> None:
        if self._active is not None and self._active.is_busy:
            raise SessionBusy("A turn is running: cancel it first.", session_id=self._active.session_id)

    async def close(self) -> SessionId | None:
        """End the active session: its log is closed, its sentence for the memory is written in the background."""
        session = self._active
        if session is None:
            return None
        self._refuse_while_busy()
        self._active = None
        session.end()
        self._in_background(self._farewell(session))
        return session.session_id

    async def delete(self, session_id: SessionId) -> None:
        """Delete a session's log and its long tool outputs, closing it first.

        Raises SessionNotFound, SessionLocked, SessionBusy, LogUnwritable.
        """
        was_active = self._active is not None and self._active.session_id == session_id
        if was_active:
            await self.close()
        # A session that ended a moment ago may still be held by its farewell; what that leaves is not wanted any more.
        await self._stop_farewells()
        never_said_a_word = was_active and all(
            row.session_id != session_id for row in list_sessions(self._sessions_directory)
        )
        try:
            if not never_said_a_word:
                await asyncio.to_thread(delete_session, self._sessions_directory, session_id)
        finally:
            self.finish_pending_memories()
        try:
            # Only now is it sure that the id is one: it becomes part of a path.
            await asyncio.to_thread(LongOutputs(self.directory.outputs(session_id)).delete)
        except OSError as error:
            logger.warning("the long tool outputs of session %s cannot be deleted: %s", session_id, error)

    async def list(self) -> Sequence[SessionSummary]:
        """The sessions on disk, newest first. One without a word is not on disk."""
        rows = await asyncio.to_thread(list_sessions, self._sessions_directory)
        own = await asyncio.to_thread(self.own_sessions.ids)
        active = self._active.session_id if self._active is not None else None
        return [
            SessionSummary(
                session_id=row.session_id,
                title=row.title,
                created_at=row.created.isoformat(),
                updated_at=row.updated.isoformat(),
                messages=row.messages,
                active=row.session_id == active,
                foreign=row.session_id not in own and row.session_id != active,
            )
            for row in rows
        ]

    async def has(self, session_id: SessionId) -> bool:
        """Whether this folder has a session of this id, active or on disk."""
        if self._active is not None and self._active.session_id == session_id:
            return True
        try:
            await asyncio.to_thread(find_session, self._sessions_directory, session_id)
        except SessionNotFound:
            return False
        return True

    async def memory(self) -> MemoryResult:
        """MEMORY.md and what of it is sent."""
        return await asyncio.to_thread(read_memory, self.path, self.store)

    async def remember(self, text: str) -> str:
        """Add a line of the person's own. Raises NotRemembered, OSError."""
        return await asyncio.to_thread(remember_by_hand, self.store, text)

    def finish_pending_memories(self) -> None:
        """Write what sessions that were killed could not, from their logs (DESIGN §7), in the background.

        Each is tried once in a process.
        """
        own = self.own_sessions.ids() - self._tried
        work = remember_left_over(self._sessions_directory, own, self.store, self.settings.current, self._tried.add)
        self._in_background(work)

    async def shutdown(self, seconds: float) -> None:
        """A turn gets two seconds to stop; write-backs get `seconds`, less those: the next start does the rest."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        if (active := self._active) is not None:
            await asyncio.wait({asyncio.ensure_future(active.stop())}, timeout=_STOPPING_SECONDS)
            if active.is_busy:
                return  # the disk hangs, say: the process ends all the same
            await self.close()
        if self._farewells:
            await asyncio.wait(self._farewells, timeout=max(seconds - (clock() - begun), 0.0))

    def abandon(self) -> None:
        """The process ends: stop background work, kill what commands have left running."""
        for task in self._farewells:
            task.cancel()
        if self._active is not None:
            self._active.end()

    @property
    def store(self) -> MemoryStore:
        """The folder's memory."""
        return MemoryStore(self.directory.root, Caps.of(self.settings.current))

    @property
    def directory(self) -> SessionDirectory:
        """Where the folder's files are; made when first asked for, and said if it is not in the workspace."""
        if self._directory is None:
            self._directory = session_directory(self.path)
            if self._directory.notice is not None:
                self.client.show("info", self._directory.notice)
        return self._directory

    @property
    def _sessions_directory(self) -> Path:
        return self.directory.sessions

    def _opened(self, history: History) -> Session:
        return Session.open(self.path, history, self.client, self.settings, self.directory.root)

    async def _farewell(self, session: Session) -> None:
        try:
            await remember(session.history, self.store, self.settings.current)
            self._tried.add(session.session_id)
        finally:
            await session.aclose()

    async def _stop_farewells(self) -> None:
        await asyncio.sleep(0)  # one that has not begun would not close its log when it is cancelled
        for task in self._farewells:
            cancel_once(task)
        if self._farewells:
            await asyncio.wait(self._farewells)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._farewells.add(task)
        task.add_done_callback(self._farewells.discard)
