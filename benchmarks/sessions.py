"""The recorded sessions the benchmarks run on: the large ones of the tests, or any directory of message lists."""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

from attrs import frozen
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from agent_ls.compaction.estimate import Estimator

_DATA = Path(__file__).parents[1] / "tests" / "data"
RECORDED = _DATA / "large_sessions"
HELD_OUT = _DATA / "held_out_sessions"


@frozen
class Session:
    """A recorded session, by the name of its file, as pydantic-ai's JSON."""

    name: str
    body: bytes

    def messages(self) -> list[ModelMessage]:
        """New message objects at each call."""
        return ModelMessagesTypeAdapter.validate_json(self.body)


def load_sessions(directory: Path = RECORDED) -> list[Session]:
    """Every `*.json` and `*.json.xz` in a directory, by name. Raises SystemExit if there is none."""
    sessions = [Session(path.name.partition(".")[0], _read(path)) for path in sorted(_paths(directory))]
    if not sessions:
        raise SystemExit(f"no sessions (*.json, *.json.xz) in {directory}")
    return sessions


def history_of(sessions: Sequence[Session], tokens: int) -> list[ModelMessage]:
    """Sessions one after another, again and again as new objects, until they are estimated at so many tokens."""
    estimator = Estimator()
    messages: list[ModelMessage] = []
    for session in cycle(sessions):
        for message in session.messages():
            if tokens <= 0:
                return messages
            tokens -= estimator.message(message)
            messages.append(message)
    return messages


def _paths(directory: Path) -> Iterator[Path]:
    yield from directory.glob("*.json")
    yield from directory.glob("*.json.xz")


def _read(path: Path) -> bytes:
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
