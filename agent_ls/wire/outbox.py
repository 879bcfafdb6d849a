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
from typing import Any, BinaryIO, Final

from attrs import define, evolve, field

from agent_ls import protocol
from agent_ls.protocol import AgentMessageChunk, AgentThoughtChunk, Gauge, SessionId, TextContent, UpdateNotification
from agent_ls.wire.converter import unstructure

logger = logging.getLogger(__name__)

MOST_WAITING_BYTES: Final = 64 * 1024 * 1024
"""Updates beyond this are dropped while the client does not read; the log and a turn's result have the whole answer."""
_GAUGE_BYTES: Final = 2048

Chunk = AgentMessageChunk | AgentThoughtChunk


@define
class _Streamed:
    """Text of one message that waits: the update it began with and all its pieces."""

    first: UpdateNotification
    chunk: Chunk
    pieces: list[str]

    def takes(self, new: UpdateNotification) -> bool:
        """Whether `new` carries the same message on."""
        same_turn = (new.session_id, new.turn_id) == (self.first.session_id, self.first.turn_id)
        return same_turn and type(new.update) is type(self.chunk)

    def whole(self) -> UpdateNotification:
        """One update with all the text."""
        return evolve(self.first, update=evolve(self.chunk, content=TextContent("".join(self.pieces))))


Item = bytes | UpdateNotification | Gauge
_Waiting = bytes | UpdateNotification | Gauge | _Streamed


@define
class Outbox:
    """A queue and the thread that writes it. `on_broken` is called once, from the thread, when the client is gone."""

    stream: BinaryIO
    on_broken: Callable[[], None]
    most_waiting_bytes: int = MOST_WAITING_BYTES
    _waiting: deque[tuple[_Waiting, int]] = field(init=False, factory=deque)
    _waiting_bytes: int = field(init=False, default=0)
    _sequence: dict[SessionId, int] = field(init=False, factory=dict)
    _changed: threading.Condition = field(init=False, factory=threading.Condition)
    _writing: bool = field(init=False, default=False)
    _broken: bool = field(init=False, default=False)
    _dropping: bool = field(init=False, default=False)

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._write_all, name="agent-ls-outbox", daemon=True).start()

    def put(self, item: Item) -> None:
        """Queue a whole message (bytes, headers included), an update or a gauge. Never blocks. From any thread."""
        with self._changed:
            if self._broken:
                return
            last = self._waiting[-1] if self._waiting else None
            match item:
                case Gauge() if last is not None and isinstance(last[0], Gauge):
                    if last[0].session_id == item.session_id:
                        self._waiting.pop()
                        self._waiting_bytes -= last[1]
                    self._add(item, _GAUGE_BYTES)
                case Gauge():
                    self._add(item, _GAUGE_BYTES)
                case bytes():
                    self._add(item, len(item))
                case UpdateNotification():
                    self._put_update(item, last[0] if last is not None else None)
            self._changed.notify_all()

    def drain(self, seconds: float) -> bool:
        """Wait until all is written; False if the client did not read it in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._broken or not (self._writing or self._waiting), seconds)

    def _put_update(self, new: UpdateNotification, last: _Waiting | None) -> None:
        chunk = new.update if isinstance(new.update, AgentMessageChunk | AgentThoughtChunk) else None
        text = chunk.content.text if chunk is not None and isinstance(chunk.content, TextContent) else None
        size = len(text) if text is not None else len(repr(new.update))
        if self._waiting_bytes + size > self.most_waiting_bytes:
            if not self._dropping:
                logger.warning("the client does not read: updates are dropped until it does")
            self._dropping = True
        elif chunk is None or text is None:
            self._add(new, size)
        elif isinstance(last, _Streamed) and last.takes(new):
            last.pieces.append(text)
            _, before = self._waiting[-1]
            self._waiting[-1] = (last, before + size)
            self._waiting_bytes += size
        else:
            self._add(_Streamed(new, chunk, [text]), size)

    def _add(self, item: _Waiting, size: int) -> None:
        self._waiting.append((item, size))
        self._waiting_bytes += size

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting)
                self._writing = True
                item, size = self._waiting.popleft()
                self._waiting_bytes -= size
                self._dropping = False
            message = self._message(item)
            try:
                self.stream.write(message)
                self.stream.flush()
            except (OSError, ValueError) as error:  # ValueError: the stream is closed
                logger.info("the client is gone: %s", error)
                with self._changed:
                    self._broken = True
                    self._waiting.clear()
                    self._changed.notify_all()
                self.on_broken()
                return

    def _message(self, item: _Waiting) -> bytes:
        match item:
            case bytes():
                return item
            case Gauge():
                return _notification(protocol.GAUGE, item)
            case _Streamed():
                return self._numbered(item.whole())
            case UpdateNotification():
                return self._numbered(item)

    def _numbered(self, update: UpdateNotification) -> bytes:
        sequence = self._sequence.get(update.session_id, 0) + 1
        message = _notification(protocol.UPDATE, evolve(update, seq=sequence))
        if message:
            self._sequence[update.session_id] = sequence
        return message


def framed(body: str) -> bytes:
    """A message with its header. `body` is JSON in ASCII, as `json.dumps` writes it."""
    data = body.encode("ascii")
    return b"Content-Length: %d\r\n\r\n%s" % (len(data), data)


def _notification(method: str, params: object) -> bytes:
    """The whole message; nothing for what cannot be written as JSON, which is a bug and logged."""
    try:
        return framed(_dumped({"jsonrpc": "2.0", "method": method, "params": unstructure(params)}))
    except (TypeError, ValueError, RecursionError, AttributeError):
        logger.exception("%s cannot be written as JSON", method)
        return b""


def _dumped(message: dict[str, Any]) -> str:
    try:
        return json.dumps(message, allow_nan=False)
    except ValueError:
        # A model may call a tool with NaN, which is no JSON: null says that there is no number.
        return json.dumps(json.loads(json.dumps(message), parse_constant=lambda _: None))
