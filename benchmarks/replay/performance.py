"""What the simulator answers while a session is replayed: the recording, turn by turn, as far as the window goes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterable
from typing import Final

from attrs import define, evolve, field

from tests.simulator import RecordedRequest, Reply, ToolCall
from tests.simulator.tokens import compact_json, count_text

SUMMARY: Final = Reply("# Conversation summary\n## Goal\nCarry on with the work.\n## Next Steps\nAs the user asked.")
_NOTHING_LEFT: Final = Reply("(the recording has no more replies to this prompt)")
_ENCODING: Final = "o200k_base"

Conversation = Generator[Reply, RecordedRequest, None]
"""Replies that depend on the requests: yields one and is sent the request that follows it."""


@define
class Performance:
    """A simulator script. A reply that runs into the window's end is cut there, as providers cut it.

    `cut` counts those replies: their calls were never made, so the turn ends at one.
    """

    window: int
    cut: int = field(init=False, default=0)
    _left: deque[Reply] = field(init=False, factory=deque)
    _conversation: Conversation | None = field(init=False, default=None)
    _lock: threading.Lock = field(init=False, factory=threading.Lock)

    def begin(self, replies: Iterable[Reply]) -> None:
        """The next turn has these replies."""
        with self._lock:
            self._left = deque(replies)

    @property
    def left(self) -> int:
        """How many replies of the turn were not played."""
        with self._lock:
            return len(self._left)

    def converse(self, conversation: Conversation) -> None:
        """The next turn's replies depend on its requests. The generator's first yield is thrown away."""
        with self._lock:
            next(conversation)
            self._conversation = conversation

    def __call__(self, request: RecordedRequest) -> Reply:
        if not request.tool_names:
            return SUMMARY
        with self._lock:
            if self._conversation is not None:
                return next(iter([self._conversation.send(request)]), _NOTHING_LEFT)
            reply = self._left.popleft() if self._left else _NOTHING_LEFT
            fitting = _within(reply, self.window - request.input_tokens)
            self.cut += fitting is not reply
            return fitting


def _within(reply: Reply, room: int) -> Reply:
    """The reply as far as `room` tokens take it: the last call that was begun breaks off within its arguments."""
    texts = [reply.thinking, reply.full_text, *(call.name + compact_json(call.arguments) for call in reply.tool_calls)]
    if sum(count_text(text, _ENCODING) for text in texts) <= room:
        return reply
    thinking, room = _begun(reply.thinking, room)
    text, room = _begun(reply.full_text, room)
    calls = []
    for call in reply.tool_calls:
        arguments = compact_json(call.arguments)
        written, room = _begun(arguments, room - count_text(call.name, _ENCODING))
        if written:
            calls.append(ToolCall(call.name, written))
        if written != arguments:
            break
    return evolve(reply, thinking=thinking, text=text, tool_calls=calls, stop_reason="length")


def _begun(text: str, room: int) -> tuple[str, int]:
    """What of a text is written in `room` tokens, and the room that is left."""
    needed = count_text(text, _ENCODING) if text else 0
    if needed <= room:
        return text, room - needed
    return text[: len(text) * max(room, 0) // needed], 0
