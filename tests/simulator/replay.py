"""Plays a recorded session of another agent again: its prompts, its model's replies, its tools' results.

The recorded responses become the simulator's replies, in order; the recorded tools become tools that answer each call
with what was recorded for it. So a session goes through the whole product, over HTTP, with the sizes of real life.

    session = RecordedSession.load(path)
    with Simulator(window=16_000, replies=session.script(summary=Reply("..."))) as simulator:
        for turn in session.turns:
            ...  # send turn.prompt, with session.tools() offered
        assert not simulator.refused
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from attrs import define, field, frozen
from pydantic_ai import RunContext, Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from tests.simulator.recorded import RecordedRequest
from tests.simulator.replies import Outcome, Reply, ToolCall

Summary = Reply | Callable[[RecordedRequest], Outcome]

_NO_TEXT = "(no text was recorded)"
_CUT_SHORT = "(the recording goes on with another prompt)"


@frozen
class RecordedTurn:
    """A prompt and the replies that answered it; the last one calls no tool, so that the turn ends."""

    prompt: str | Sequence[UserContent]
    replies: tuple[Reply, ...]


@frozen
class RecordedSession:
    """A session as turns, with the result of every tool call by its id; `failed`: ids of calls that failed."""

    turns: tuple[RecordedTurn, ...]
    results: dict[str, Any]
    failed: frozenset[str] = frozenset()

    @classmethod
    def load(cls, path: Path) -> Self:
        """From a pydantic-ai message list as JSON."""
        return cls.of(ModelMessagesTypeAdapter.validate_json(path.read_bytes()))

    @classmethod
    def of(cls, messages: Sequence[ModelMessage]) -> Self:
        """From messages. Calls without a recorded result get one that says so."""
        returns = [
            part
            for message in messages
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]
        results = {part.tool_call_id: part.content for part in returns}
        failed = frozenset(part.tool_call_id for part in returns if part.outcome == "failed")
        return cls(tuple(_turns(messages)), results, failed)

    @property
    def replies(self) -> list[Reply]:
        """All replies, in order."""
        return [reply for turn in self.turns for reply in turn.replies]

    def script(self, summary: Summary) -> SessionScript:
        """Answers requests that offer tools with the recording, others (summaries, memory) with `summary`."""
        return SessionScript(deque(self.replies), summary)

    def tools(self) -> list[Tool[Any]]:
        """One tool for each name in the recording, which takes anything and returns what was recorded."""
        names = dict.fromkeys(call.name for reply in self.replies for call in reply.tool_calls)
        return [self._tool(name) for name in names]

    def _tool(self, name: str) -> Tool[Any]:
        async def answer(context: RunContext[Any], **arguments: Any) -> Any:
            return self.results.get(context.tool_call_id or "", "(no result was recorded)")

        schema = {"type": "object", "properties": {}, "additionalProperties": True}
        return Tool.from_schema(answer, name, f"The recorded {name}.", schema, takes_ctx=True)


@define
class SessionScript:
    """A simulator script over a recording. `left`: replies not yet played."""

    left: deque[Reply]
    summary: Summary
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def __call__(self, request: RecordedRequest) -> Outcome:
        if not request.tool_names:
            return self.summary if isinstance(self.summary, Reply) else self.summary(request)
        with self._lock:
            return self.left.popleft()


def _turns(messages: Sequence[ModelMessage]) -> Iterator[RecordedTurn]:
    prompt: str | Sequence[UserContent] | None = None
    replies: list[Reply] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            _add_reply(replies, message)
        elif (said := _prompt_of(message)) is not None:
            if prompt is not None and replies:
                yield RecordedTurn(prompt, _ended(replies))
            # Two prompts without an answer between them: the later one stands for both.
            prompt, replies = said, []
    if prompt is not None and replies:
        yield RecordedTurn(prompt, _ended(replies))


def _prompt_of(message: ModelRequest) -> str | Sequence[UserContent] | None:
    said = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
    if len(said) <= 1:
        return said[0] if said else None
    return [item for content in said for item in ([content] if isinstance(content, str) else content)]


def _add_reply(replies: list[Reply], message: ModelResponse) -> None:
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    thinking = "".join(part.content for part in message.parts if isinstance(part, ThinkingPart))
    calls = tuple(
        ToolCall(part.tool_name, part.args_as_dict(), part.tool_call_id)
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )
    if replies and not replies[-1].tool_calls:
        # A reply without calls ends a turn: one that was followed by another is joined with it.
        before = replies.pop()
        text, thinking = before.full_text + text, before.thinking + thinking
    replies.append(Reply(text if text.strip() or calls else _NO_TEXT, thinking=thinking, tool_calls=calls))


def _ended(replies: list[Reply]) -> tuple[Reply, ...]:
    return (*replies, Reply(_CUT_SHORT)) if replies[-1].tool_calls else tuple(replies)
