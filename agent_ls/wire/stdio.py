"""The process of a stdio server: private streams, signals, the parent's death, one bounded job at the end.

Written for Windows too (a reader thread instead of asyncio pipes, signals where they exist); only Linux is tested.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import BinaryIO, Final

from pygls.lsp.server import LanguageServer

from agent_ls.wire.framing import Body, BrokenFraming, TooLarge, read_frames
from agent_ls.wire.jsonrpc import AgentProtocol
from agent_ls.wire.outbox import Outbox

logger = logging.getLogger(__name__)

_PARENT_POLL_SECONDS: Final = 1.0
_UNHANDLED_FRAMES: Final = 256
_FLUSH_SECONDS: Final = 1.0

OnExit = Callable[[str], Awaitable[None]]
"""The job at the end; the argument says why the process ends."""


def run(server: LanguageServer, protocol: AgentProtocol, on_exit: OnExit, *, exit_seconds: float) -> int:
    """Serve until the client leaves or a signal comes; returns the exit status. `on_exit` has `exit_seconds`.

    Status 0 after a shutdown, an ended stream or a signal; 1 for `exit` without shutdown (LSP 3.17 "Exit") and for a
    stream that is out of step.
    """
    return asyncio.run(_run(server, protocol, on_exit, exit_seconds))


def leave(status: int) -> None:
    """End the process now: threads that still block must not hold it."""
    logging.shutdown()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(status)


async def _run(server: LanguageServer, protocol: AgentProtocol, on_exit: OnExit, exit_seconds: float) -> int:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[str, int]] = loop.create_future()

    def end(why: str, status: int = 0) -> None:
        if not ended.done():
            ended.set_result((why, status))

    incoming, outgoing = _private_streams()
    protocol.outbox = Outbox(outgoing, on_broken=lambda: loop.call_soon_threadsafe(end, "the client is gone"))
    protocol.outbox.start()
    protocol.on_exit = lambda: end("exit", 0 if protocol._shutdown else 1)
    _on_signals(loop, end)
    reader = _Reader(incoming, protocol, loop, end)
    threading.Thread(target=reader.read, name="agent-ls-stdin", daemon=True).start()
    watch = asyncio.create_task(_watch_parent(server, end))
    why, status = await ended
    logger.info("ending: %s", why)
    watch.cancel()
    try:
        await asyncio.wait_for(on_exit(why), exit_seconds)
    except TimeoutError:
        logger.warning("what was to be done at the end took longer than %.1f s", exit_seconds)
    except Exception:
        logger.exception("what was to be done at the end failed")
    await asyncio.to_thread(protocol.outbox.drain, _FLUSH_SECONDS)
    return status


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The protocol's own stdin and stdout. A stray print, also of a child, goes to stderr; children read nothing."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return incoming, outgoing


def _on_signals(loop: asyncio.AbstractEventLoop, end: Callable[[str], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, end, number.name)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda received, _: loop.call_soon_threadsafe(end, signal.Signals(received).name))


async def _watch_parent(server: LanguageServer, end: Callable[[str], None]) -> None:
    """The client's process may die and leave the pipe open in another one (LSP 3.17 "initialize", processId)."""
    while True:
        await asyncio.sleep(_PARENT_POLL_SECONDS)
        if server.process_id and not _is_alive(server.process_id):
            end("the client's process is gone")
            return


def _is_alive(process_id: int) -> bool:
    if os.name != "posix":
        return True  # os.kill(pid, 0) would end the process there; the closing pipe tells
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


class _Reader:
    """Reads frames in a thread and hands them to the loop, at most so many ahead of it."""

    def __init__(
        self,
        stream: BinaryIO,
        protocol: AgentProtocol,
        loop: asyncio.AbstractEventLoop,
        end: Callable[[str, int], None],
    ) -> None:
        self._stream = stream
        self._protocol = protocol
        self._loop = loop
        self._end = end
        self._room = threading.BoundedSemaphore(_UNHANDLED_FRAMES)

    def read(self) -> None:
        why, status = "the client closed the stream", 0
        try:
            for frame in read_frames(self._stream):
                self._room.acquire()
                self._loop.call_soon_threadsafe(self._handle, frame)
        except BrokenFraming as error:
            why, status = f"the client's messages cannot be read: {error}", 1
            sys.stderr.write(f"agent-ls: {why}\n")
            sys.stderr.flush()
        except OSError as error:
            why = f"the client's stream failed: {error}"
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._end, why, status)

    def _handle(self, frame: Body | TooLarge) -> None:
        self._room.release()
        try:
            match frame:
                case Body(data):
                    self._protocol.handle_body(data)
                case TooLarge(length):
                    self._protocol.refuse_too_large(length)
        except Exception:
            logger.exception("a bug while a message was taken in")
