"""The process of a stdio server: private streams, signals, the parent's death, one bounded job at the end.

Written for Windows too (threads instead of asyncio pipes, the signals there are); only Linux is tested.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import BinaryIO, Final, NoReturn

from attrs import field, frozen

from agent_ls.wire.framing import Body, BrokenFraming, TooLarge, read_frames
from agent_ls.wire.jsonrpc import AgentProtocol
from agent_ls.wire.outbox import Outbox
from agent_ls.wire.parent import is_alive
from agent_ls.wire.server import AgentServer

logger = logging.getLogger(__name__)

_STDIN, _STDOUT, _STDERR = range(3)
_PARENT_POLL_SECONDS: Final = 1.0
_MOST_FRAMES_AHEAD: Final = 64
_FLUSH_SECONDS: Final = 0.5
_CANCEL_SECONDS: Final = 0.25
_LEEWAY_SECONDS: Final = 0.25
_SIGNALS: Final = ("SIGTERM", "SIGINT", "SIGHUP")

OnExit = Callable[[str], Awaitable[None]]
"""The job at the end; the argument says why the process ends."""


@frozen
class _End:
    """Why the process ends, and its exit status."""

    why: str
    status: int = 0


def serve(server: AgentServer, on_exit: OnExit, *, exit_seconds: float) -> NoReturn:
    """Serve over stdin and stdout until the client leaves or a signal comes; then end the process.

    `on_exit` runs once and has `exit_seconds`; the process ends at most a second later, whatever hangs. Status 0 after
    a shutdown, an ended stream or a signal; 1 for `exit` without shutdown (LSP 3.17 "Exit") and for a stream that is
    out of step.
    """
    incoming, outgoing = _private_streams()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    process = _Process(server.protocol, on_exit, exit_seconds, loop)
    # The loop is never closed: that waits for threads, and one that hangs must not hold the process.
    _leave(loop.run_until_complete(process.serve(incoming, outgoing)))


@frozen(eq=False)
class _Process:
    protocol: AgentProtocol
    on_exit: OnExit
    exit_seconds: float
    loop: asyncio.AbstractEventLoop
    _ended: asyncio.Future[_End] = field(init=False)
    # Reentrant, so that a signal handler may use it.
    _ends: queue.SimpleQueue[_End] = field(init=False, factory=queue.SimpleQueue)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_ended", self.loop.create_future())

    async def serve(self, incoming: BinaryIO, outgoing: BinaryIO) -> int:
        """The exit status."""
        outbox = Outbox(outgoing, on_broken=lambda: self.end(_End("the client is gone")))
        outbox.start()
        self.protocol.outbox = outbox
        self.protocol.on_exit = lambda: self.end(_End("exit", 0 if self.protocol.shutdown_requested else 1))
        self._end_on_signals()
        for work in (self._read_from(incoming), self._limit_the_end):
            threading.Thread(target=work, name="agent-ls-stdio", daemon=True).start()
        watch = asyncio.create_task(self._watch_parent())
        end = await self._ended
        logger.info("ending: %s", end.why)
        watch.cancel()
        await self._do_last_job(end.why)
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        if rest:
            await asyncio.wait(rest, timeout=_CANCEL_SECONDS)
        outbox.drain(_FLUSH_SECONDS)
        return end.status

    def end(self, end: _End) -> None:
        """End the process; the first reason counts. From any thread, and from a signal handler."""
        self._ends.put(end)
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self.loop.call_soon_threadsafe(self._set_ended, end)

    def _set_ended(self, end: _End) -> None:
        if not self._ended.done():
            self._ended.set_result(end)

    async def _do_last_job(self, why: str) -> None:
        job = asyncio.ensure_future(self.on_exit(why))
        # Not wait_for: it waits for a job that does not let itself be cancelled.
        await asyncio.wait({job}, timeout=self.exit_seconds)
        if not job.done():
            logger.warning("what was to be done at the end took longer than %.1f s", self.exit_seconds)
        elif not job.cancelled() and (error := job.exception()) is not None:
            logger.error("what was to be done at the end failed", exc_info=error)

    def _limit_the_end(self) -> None:
        """Also if the event loop hangs."""
        end = self._ends.get()
        time.sleep(self.exit_seconds + _CANCEL_SECONDS + _FLUSH_SECONDS + _LEEWAY_SECONDS)
        os._exit(end.status)

    def _end_on_signals(self) -> None:
        for name in _SIGNALS:
            if (number := getattr(signal, name, None)) is not None:  # Windows has no SIGHUP
                # Not the loop's own handlers: Windows has none, and a loop that hangs would not call them.
                signal.signal(number, lambda received, _: self.end(_End(signal.Signals(received).name)))

    async def _watch_parent(self) -> None:
        """The client's process may die and leave the pipe open in another one."""
        while True:
            await asyncio.sleep(_PARENT_POLL_SECONDS)
            if self.protocol.client_process is not None and not is_alive(self.protocol.client_process):
                self.end(_End("the client's process is gone"))
                return

    # --- reading ------------------------------------------------------------------------------------------------------

    def _read_from(self, stream: BinaryIO) -> Callable[[], None]:
        """Reads frames in a thread and hands them to the loop, at most so many ahead of it."""
        room = threading.BoundedSemaphore(_MOST_FRAMES_AHEAD)

        def take(frame: Body | TooLarge) -> None:
            room.release()
            self._take(frame)

        def read() -> None:
            end = _End("the client closed the stream")
            try:
                for frame in read_frames(stream):
                    room.acquire()
                    self.loop.call_soon_threadsafe(take, frame)
            except BrokenFraming as error:
                end = _End(f"the client's messages cannot be read: {error}", 1)
                sys.stderr.write(f"agent-ls: {end.why}\n")
                sys.stderr.flush()
            except OSError as error:
                end = _End(f"the client's stream failed: {error}")
            # The loop takes it behind the frames that were read: `exit` before the end of the stream is an exit.
            self.end(end)

        return read

    def _take(self, frame: Body | TooLarge) -> None:
        try:
            match frame:
                case Body(data):
                    self.protocol.handle_body(data)
                case TooLarge(length):
                    self.protocol.refuse_too_large(length)
        except Exception:
            # Whatever one message does, the next one is served.
            logger.exception("a bug while a message was taken in")


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The protocol's own stdin and stdout. A stray print, also of a child, goes to stderr; children read nothing.

    First of all, while the descriptors are what the editor made them: it may give no stderr, and the next file opened
    would take its number.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None or nothing == _STDERR:
        os.dup2(nothing, _STDERR)
        sys.stderr = os.fdopen(_STDERR, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    incoming = os.fdopen(os.dup(_STDIN), "rb")
    outgoing = os.fdopen(os.dup(_STDOUT), "wb")
    os.dup2(_STDERR, _STDOUT)
    os.dup2(nothing, _STDIN)
    if nothing > _STDERR:
        os.close(nothing)
    sys.stdout = sys.stderr
    return incoming, outgoing


def _leave(status: int) -> NoReturn:
    logging.shutdown()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)
