"""Everything that goes to the client, in one order, written by a thread so that a client that stops reading stops
nobody else.

While the client is slow, streamed text of one message joins into one update, and of gauges of one session that follow
each other only the newest is sent. `seq` is given when an update is written, so the client sees it count up by one.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import BinaryIO, Final

from attrs import define, evolve, field

from agent_ls import protocol
from agent_ls.protocol import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Gauge,
    SessionId,
    TextContent,
    UpdateNotification,
)
from agent_ls.wire.converter import unstructure

logger = logging.getLogger(__name__)

_CHUNKS: Final = (AgentMessageChunk, AgentThoughtChunk)
_MOST_QUEUED_BYTES: Final = 64 * 1024 * 1024
"""Streamed text beyond this is dropped while the client does not read; a turn's result has the whole answer."""

Item = bytes | UpdateNotification | Gauge


@define
class Outbox:
    """A queue and the thread that writes it. `on_broken` is called once, from the thread, when the client is gone."""

    stream: BinaryIO
    on_broken: Callable[[], None]
    _items: deque[Item] = field(init=False, factory=deque)
    _queued_bytes: int = field(init=False, default=0)
    _sequence: dict[SessionId, int] = field(init=False, factory=dict)
    _changed: threading.Condition = field(init=False, factory=threading.Condition)
    _idle: bool = field(init=False, default=True)
    _broken: bool = field(init=False, default=False)
    _dropping: bool = field(init=False, default=False)

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._write_all, name="agent-ls-outbox", daemon=True).start()

    def put(self, item: Item) -> None:
        """Queue a whole message (bytes, headers included), an update or a gauge. Never blocks."""
        with self._changed:
            if self._broken:
                return
            joined = _joined(self._items[-1], item) if self._items else None
            if joined is not None:
                self._items[-1] = joined
                self._queued_bytes += _size(item)
            elif self._queued_bytes > _MOST_QUEUED_BYTES and _is_chunk(item):
                if not self._dropping:
                    logger.warning("the client does not read: streamed text is dropped until it does")
                self._dropping = True
                return
            else:
                self._items.append(item)
                self._queued_bytes += _size(item)
            self._changed.notify_all()

    def drain(self, seconds: float) -> bool:
        """Wait until all is written; False if the client did not read it in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._broken or (self._idle and not self._items), seconds)

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._idle = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._items)
                self._idle = False
                item = self._items.popleft()
                self._queued_bytes -= _size(item)
                self._dropping = False
            try:
                self.stream.write(self._message(item))
                self.stream.flush()
            except (OSError, ValueError) as error:
                logger.info("the client is gone: %s", error)
                with self._changed:
                    self._broken = True
                    self._items.clear()
                    self._changed.notify_all()
                self.on_broken()
                return

    def _message(self, item: Item) -> bytes:
        match item:
            case bytes():
                return item
            case UpdateNotification():
                sequence = self._sequence.get(item.session_id, 0) + 1
                self._sequence[item.session_id] = sequence
                return _notification(protocol.UPDATE, evolve(item, seq=sequence))
            case Gauge():
                return _notification(protocol.GAUGE, item)


def framed(body: str) -> bytes:
    """A message with its header. `body` is JSON in ASCII, as `json.dumps` writes it."""
    data = body.encode("ascii")
    return b"Content-Length: %d\r\n\r\n%s" % (len(data), data)


def _notification(method: str, params: object) -> bytes:
    return framed(json.dumps({"jsonrpc": "2.0", "method": method, "params": unstructure(params)}))


def _is_chunk(item: Item) -> bool:
    return isinstance(item, UpdateNotification) and isinstance(item.update, _CHUNKS)


def _size(item: Item) -> int:
    match item:
        case bytes():
            return len(item)
        case UpdateNotification(update=AgentMessageChunk(TextContent(text)) | AgentThoughtChunk(TextContent(text))):
            return len(text)
        case _:
            return 0


def _joined(last: Item, new: Item) -> Item | None:
    """One item that says what both say, None if there is none."""
    match last, new:
        case Gauge(), Gauge() if last.session_id == new.session_id:
            return new
        case UpdateNotification(), UpdateNotification() if (
            last.session_id == new.session_id
            and last.turn_id == new.turn_id
            and type(last.update) is type(new.update)
            and isinstance(last.update, _CHUNKS)
            and isinstance(new.update, _CHUNKS)
            and isinstance(last.update.content, TextContent)
            and isinstance(new.update.content, TextContent)
        ):
            return evolve(
                last,
                update=evolve(last.update, content=TextContent(last.update.content.text + new.update.content.text)),
            )
        case _:
            return None
