"""A recorded session as one that the product can play: its tool calls become calls of the product's own tools.

The recorded tools have other names and other arguments than ours, so each call becomes one that brings the recorded
result back through our tools, bounds and all: the result is a file of the workspace, which a call that read a file
reads with `read_file` and any other prints with `run_command`. The recorded call stands behind the command as a
comment, so the history grows by its arguments too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen
from pydantic_ai.messages import BinaryContent, UserContent

from tests.simulator import Reply, ToolCall
from tests.simulator.replay import RecordedSession

_READERS: Final = frozenset({"read", "open", "view"})
_FOLDER: Final = "recorded"
_LONGEST_COMMAND: Final = 100_000
"""Characters; Linux takes 128 KiB for one argument of a process."""

NEVER_ENDS: Final = "sleep 600"
"""Stands for a call that a person interrupted: no result of it was recorded."""


@frozen
class Turn:
    """A prompt and the replies to it. `interrupted`: a person cancelled it while its last calls ran."""

    prompt: str | Sequence[UserContent]
    replies: tuple[Reply, ...]
    interrupted: bool

    @property
    def texts(self) -> list[str]:
        """What the user wrote in it, without pictures."""
        items = [self.prompt] if isinstance(self.prompt, str) else self.prompt
        return [item for item in items if isinstance(item, str) and item.strip()]


def playable(session: RecordedSession, workspace: Path) -> list[Turn]:
    """The session's turns, with the results of their calls laid down in the workspace."""
    (workspace / _FOLDER).mkdir()
    number = 0
    turns = []
    for turn in session.turns:
        replies = []
        interrupted = _is_interrupted(turn.replies, session.results)
        for reply in turn.replies:
            calls = []
            for call in reply.tool_calls:
                number += 1
                calls.append(_Call(call, f"{_FOLDER}/{number:04}", session).played(workspace))
            replies.append(evolve(reply, tool_calls=calls))
        if interrupted and not turn.replies[-1].tool_calls:
            # A reply that was made up, so that the turn ends: this one ends by being cancelled.
            replies.pop()
        turns.append(Turn(turn.prompt, tuple(replies), interrupted))
    return turns


def _is_interrupted(replies: Sequence[Reply], results: Mapping[str, Any]) -> bool:
    """Whether results of the turn's newest round are missing; the reply after that round is not a recorded one."""
    rounds = [reply for reply in replies if reply.tool_calls]
    return bool(rounds) and any(call.id not in results for call in rounds[-1].tool_calls)


@frozen
class _Call:
    """One recorded call; `place` is where its result goes, without the ending of the file's name."""

    call: ToolCall
    place: str
    session: RecordedSession

    def played(self, workspace: Path) -> ToolCall:
        if self.call.id not in self.session.results:
            return ToolCall("run_command", {"command": f"{NEVER_ENDS} {self._comment()}"})
        result = self.session.results[self.call.id]
        picture = next(_pictures(result), None)
        if picture is not None:
            path = f"{self.place}.{picture.format}"
            (workspace / path).write_bytes(picture.data)
            return ToolCall("read_file", {"path": path})
        path = f"{self.place}.txt"
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        (workspace / path).write_text(text, encoding="utf-8", errors="replace", newline="")
        if self.call.name.lower() in _READERS:
            return ToolCall("read_file", {"path": path})
        status = "; exit 1" if self.call.id in self.session.failed else ""
        return ToolCall("run_command", {"command": f"cat {path}{status} {self._comment()}"})

    def _comment(self) -> str:
        # JSON has no line ends of its own, so the comment ends where the command does.
        return f"# {self.call.name} {json.dumps(self.call.arguments, ensure_ascii=False)}"[:_LONGEST_COMMAND]


def _pictures(result: Any) -> Iterator[BinaryContent]:
    for item in result if isinstance(result, list) else ():
        if isinstance(item, BinaryContent) and item.is_image:
            yield item
