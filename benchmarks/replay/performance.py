"""What the simulator answers while a session is replayed: the recording, turn by turn, as far as the window goes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from typing import Final

from attrs import define, evolve, field

from tests.simulator import RecordedRequest, Reply, ToolCall, anthropic_messages, openai_chat
from tests.simulator.recorded import Protocol
from tests.simulator.tokens import EncodingName, compact_json, count_text

SUMMARY: Final = Reply("# Conversation summary\n## Goal\nCarry on with the work.\n## Next Steps\nAs the user asked.")
_NOTHING_LEFT: Final = Reply("(the recording has no more replies to this prompt)")
_ENCODINGS: Final[Mapping[Protocol, EncodingName]] = {
    "openai": openai_chat.ENCODING,
    "anthropic": anthropic_messages.ENCODING,
}

Conversation = Generator[Reply, RecordedRequest, None]
"""Replies that depend on the requests: yields one and is sent the request that follows it."""


@define
class Performance:
    """A simulator script. A reply that runs into the end of the window or of its allowance is cut as providers cut it.

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
            fitting = _within(reply, _room(request, self.window), _ENCODINGS[request.protocol])
            self.cut += fitting is not reply
            return fitting


def _room(request: RecordedRequest, window: int) -> int:
    """Tokens an answer may have."""
    allowance = request.body.get("max_tokens") or request.body.get("max_completion_tokens") or window
    return min(int(allowance), window - request.input_tokens)


def _within(reply: Reply, room: int, encoding: EncodingName) -> Reply:
    """The reply as far as `room` tokens take it: the last call that was begun breaks off within its arguments."""
    texts = [reply.thinking, reply.full_text, *(call.name + compact_json(call.arguments) for call in reply.tool_calls)]
    if sum(count_text(text, encoding) for text in texts) <= room:
        return reply

    def begun(text: str) -> str:
        nonlocal room
        needed = count_text(text, encoding)
        written = text if needed <= room else text[: len(text) * max(room, 0) // needed]
        room = max(room - needed, 0)
        return written

    thinking, text = begun(reply.thinking), begun(reply.full_text)
    calls = []
    for call in reply.tool_calls:
        if begun(call.name) != call.name or not (arguments := begun(compact_json(call.arguments))):
            break
        calls.append(ToolCall(call.name, arguments))
    return evolve(reply, thinking=thinking, text=text, tool_calls=calls, stop_reason="length")
