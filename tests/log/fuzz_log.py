"""Replays logs with damaged bytes.

Each damaged log must load, from both ends alike, into a history that a provider accepts. The short form runs with the
tests (`test_fuzz_log.py`), the long one with `scripts/attack`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.history import Checkpoint, History
from agent_ls.log.catalog import list_sessions, write_back_pending
from agent_ls.log.replay import originals, replay, replay_forwards
from agent_ls.protocol import CompactionId, TurnId, TurnUsage
from agent_ls.tokens import Tokens

from .strategies import answer, prompt
from .test_dangling import unpaired

REAL = Path(__file__).parents[1] / "data" / "sessions" / "swe-function-calling-simple.json"


def _compact(history: History, name: str, tail_start: int) -> None:
    tokens = (Tokens.measured(2), Tokens.estimated(1))
    history.compact(Checkpoint(CompactionId(name), prompt("summary"), tail_start, "manual", *tokens))


def sample(folder: Path) -> bytes:
    """A log with every kind of line and many kinds of parts."""
    history = History.create(folder, directory=folder)
    picture = BinaryContent(b"\x89PNG\r\n", media_type="image/png")
    history.append(ModelRequest([UserPromptPart(["look \ud800", picture])]))
    history.append(ModelResponse([ThinkingPart("hm", signature="s"), TextPart("a"), ToolCallPart("t", '{"a":1}', "x")]))
    history.append(ModelRequest([ToolReturnPart("t", {"b": [1, None, "\u2028"]}, "x")]))
    history.append(answer("b", 900))
    asyncio.run(history.record_turn(TurnId("t1"), "end_turn", TurnUsage(1, 1, 0, 1), 0.5))
    _compact(history, "c1", 3)
    for message in ModelMessagesTypeAdapter.validate_json(REAL.read_bytes())[1:5]:
        history.append(message)
    _compact(history, "c2", 2)
    history.undo_compaction()
    history.record_memory("Looked.")
    history.close()
    return history.path.read_bytes()


def small_samples(folder: Path) -> list[bytes]:
    """Short logs, which are damaged many times faster: a turn, a checkpoint, an undone one."""
    turn: list[ModelMessage] = [
        prompt("look"),
        ModelResponse([ToolCallPart("t", {}, "x")]),
        ModelRequest([ToolReturnPart("t", "b", "x")]),
    ]
    contents: list[bytes] = []
    for name in ("turn", "checkpoint", "undone"):
        history = History.create(folder, directory=folder)
        history.append(*turn, answer("c", 90))
        if name != "turn":
            _compact(history, name, 3)
        if name == "undone":
            history.append(prompt("on"))
            history.undo_compaction()
        asyncio.run(history.record_turn(TurnId(name), "end_turn", TurnUsage(1, 1, 0, 1)))
        history.close()
        contents.append(history.path.read_bytes())
    return contents


def _place(chance: random.Random, content: bytearray) -> tuple[int, int]:
    start = chance.randrange(len(content) + 1)
    return start, min(len(content), start + chance.choice((0, 1, 1, 2, 8, 64, 512)))


def _overwrite(chance: random.Random, content: bytearray) -> None:
    start, end = _place(chance, content)
    content[start:end] = chance.randbytes(end - start)


def _delete(chance: random.Random, content: bytearray) -> None:
    start, end = _place(chance, content)
    del content[start:end]


def _repeat(chance: random.Random, content: bytearray) -> None:
    start, end = _place(chance, content)
    content[start:start] = content[start:end] * chance.choice((1, 1, 3, 50))


def _insert(chance: random.Random, content: bytearray) -> None:
    start, _ = _place(chance, content)
    content[start:start] = chance.choice(
        (b"\n", b"\0" * 9, b'"', b"{", b"[" * 300, b"\\", b"\\ud800", b"9" * 50, b"null", b'{"type":"', b"\xff", b",")
    )


def _shuffle_lines(chance: random.Random, content: bytearray) -> None:
    lines = content.splitlines(keepends=True)
    chance.shuffle(lines)
    content[:] = b"".join(lines)


def _truncate(chance: random.Random, content: bytearray) -> None:
    del content[chance.randrange(len(content) + 1) :]


DAMAGES: Sequence[Callable[[random.Random, bytearray], None]] = (
    _overwrite,
    _overwrite,
    _delete,
    _repeat,
    _insert,
    _insert,
    _shuffle_lines,
    _truncate,
)


WHOLE_IN = 20
"""One damaged log in so many is made of the whole sample, the others of a small one."""


def fuzz(count: int, seed: int | str, *, on_each: Callable[[], object] = lambda: None) -> int:
    """Replay `count` damaged logs; returns how many messages they held in all. Raises at the first that fails.

    `on_each` is called before each of them.
    """
    chance = random.Random(seed)
    held = 0
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        whole, small = sample(folder), small_samples(folder)
        for path in folder.iterdir():
            path.unlink()
        path = folder / "20261201T101500Z_abc.jsonl"
        for number in range(count):
            on_each()
            content = bytearray(chance.choice(small) if chance.randrange(WHOLE_IN) else whole)
            for _ in range(chance.choice((1, 1, 2, 5))):
                chance.choice(DAMAGES)(chance, content)
            path.write_bytes(content)
            try:
                held += _check(path)
            except BaseException as error:
                error.add_note(f"damaged log {number} of seed {seed}: {bytes(content)[:2000]!r}")
                raise
    return held


def _check(path: Path) -> int:
    told = replay(path)
    from_start = replay_forwards(path)
    # A reading from the end need not meet, and warn of, what is before the last checkpoint.
    assert [each.place for each in told.live] == [each.place for each in from_start.live]
    assert (told.totals, told.next_ordinal, told.checkpoint) == (
        from_start.totals,
        from_start.next_ordinal,
        from_start.checkpoint,
    )
    assert told.first_after_checkpoint == from_start.first_after_checkpoint
    assert unpaired([each.message for each in told.live]) == []
    assert len(list_sessions(path.parent)) == 1
    write_back_pending(path)
    return len(list(originals(path)))
