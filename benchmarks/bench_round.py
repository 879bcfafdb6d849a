"""What a round costs beside the model: ours at no history and at 10 MB, and a plain pydantic-ai run.

    python -m benchmarks.bench_round [--megabytes N] [--rounds N]

A round is a response that calls `read_file` on a small file, the file read, the results logged, the next request
prepared. The model answers at once, so all the time is agent_ls' and pydantic-ai's; a provider's own mapping of the
messages to JSON, linear in them, comes on top for both.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.usage import RequestUsage, UsageLimits

from agent_ls.history import History
from agent_ls.session import Session
from agent_ls.settings import LiveSettings
from agent_ls.turn import Turn
from agent_ls.updates import ToolCallIds
from benchmarks.report import machine
from benchmarks.sessions import RECORDED, load_sessions
from tests.fake_client import FakeClient
from tests.scripted_model import says, scripted

LIMIT_MS: Final = 10.0
_FILE: Final = "a.py"
_HUGE_WINDOW: Final = 10**9


@frozen
class Rounds:
    """Milliseconds per round, the median of a turn's rounds, and what the history held."""

    plain: float
    ours: float
    megabytes: float
    messages: int


class CallsAFile:
    """A model that asks for the same file `rounds` times, and notes when it was asked."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.asked: list[float] = []

    def answer(self, messages: list[ModelMessage]) -> ModelResponse:
        """The next response."""
        self.asked.append(time.perf_counter())
        if len(self.asked) > self.rounds:
            return says("Done.")
        call = ToolCallPart("read_file", {"path": _FILE}, tool_call_id=f"bench-{len(self.asked)}")
        return ModelResponse(parts=[call], usage=RequestUsage(input_tokens=1_000, output_tokens=10))

    @property
    def milliseconds(self) -> float:
        """The median from one request to the next."""
        return statistics.median(after - before for before, after in itertools.pairwise(self.asked)) * 1_000


def history_of_bytes(megabytes: float) -> list[ModelMessage]:
    """Recorded sessions, again and again, ending in an answered turn."""
    messages: list[ModelMessage] = []
    size, sessions = 0.0, load_sessions(RECORDED)
    for session in itertools.cycle(sessions):
        if size >= megabytes * 1e6:
            return messages
        messages += session.messages()
        size += len(session.body)
    return messages


def ours(messages: Sequence[ModelMessage], rounds: int) -> float:
    """Milliseconds per round of a `Session` on a history of these messages."""
    calls = CallsAFile(rounds)
    model = scripted(calls.answer, window=_HUGE_WINDOW)

    async def run(workspace: Path) -> None:
        history = History.create(workspace, directory=workspace / "sessions")
        history.append(*messages)
        settings = LiveSettings.fixed(model="test", compaction_context_window_tokens=_HUGE_WINDOW)
        session = Session.open(workspace, history, FakeClient(), settings, workspace / "own")
        history.append(ModelRequest(parts=[UserPromptPart("Go on.")]))
        turn = Turn(
            history=history,
            cascade=session.compactor,
            listener=session,
            model=model,
            capabilities=session.setup.capabilities(model),
            instructions=lambda: session.setup.instructions(model),
            room_for_answer=lambda: _HUGE_WINDOW,
            max_requests=rounds + 1,
            ids=ToolCallIds(),
        )
        await turn.run()
        session.end()
        history.close()

    with _workspace() as workspace:
        asyncio.run(run(workspace))
    return calls.milliseconds


def plain(messages: Sequence[ModelMessage], rounds: int) -> float:
    """The same of `Agent.run` with one tool that reads a file, nothing logged, nobody asked."""
    calls = CallsAFile(rounds)

    async def run(workspace: Path) -> None:
        agent: Agent[None, str] = Agent(scripted(calls.answer).model)

        @agent.tool_plain
        def read_file(path: str) -> str:
            return (workspace / path).read_text()

        async def events(context: Any, stream: Any) -> None:
            async for _ in stream:
                pass

        await agent.run(
            None,
            message_history=[*messages, ModelRequest(parts=[UserPromptPart("Go on.")])],
            usage_limits=UsageLimits(request_limit=None),
            event_stream_handler=events,
        )

    with _workspace() as workspace:
        asyncio.run(run(workspace))
    return calls.milliseconds


@contextmanager
def _workspace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder).resolve()
        (workspace / _FILE).write_text("x = 1\n")
        yield workspace


def measure(megabytes: float, rounds: int, turns: int = 3) -> Rounds:
    """Turns of ours and of a plain run, in turns."""
    messages = history_of_bytes(megabytes) if megabytes else []
    pairs = [(plain(messages, rounds), ours(messages, rounds)) for _ in range(turns)]
    return Rounds(
        plain=statistics.median(each[0] for each in pairs),
        ours=statistics.median(each[1] for each in pairs),
        megabytes=megabytes,
        messages=len(messages),
    )


def report(megabytes: float = 10.0, rounds: int = 30) -> str:
    """The table."""
    lines = [
        "| history | messages | plain pydantic-ai | agent_ls | **agent_ls to plain** |",
        "|---|---|---|---|---|",
    ]
    for size in (0.0, 1.0, megabytes):
        each = measure(size, rounds)
        lines.append(
            f"| {size:.0f} MB | {each.messages:,} | {each.plain:.1f} ms | {each.ours:.1f} ms "
            f"| **{each.ours / each.plain:.2f}** |"
        )
    return "\n".join([*lines, "", f"Median of {rounds} rounds in 3 turns each; {machine()}."])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    print(report(arguments.megabytes, arguments.rounds))


if __name__ == "__main__":
    main()
