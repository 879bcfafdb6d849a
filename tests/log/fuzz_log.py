"""Replays logs with damaged bytes: `python -m tests.log.fuzz_log --count 1000000 --seed 7` (issue 6).

Each damaged log must load, from both ends alike, into a history that a provider accepts. The short form runs with the
tests (`test_fuzz_log.py`).
"""

from __future__ import annotations

import argparse
import logging
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_ai.messages import (
    BinaryContent,
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
    history.append(
        ModelResponse([ThinkingPart("hm", signature="s"), TextPart("a"), ToolCallPart("t", '{"a":1}', "x")]),
        durable=True,
    )
    history.append(ModelRequest([ToolReturnPart("t", {"b": [1, None, "\u2028"]}, "x")]))
    history.append(answer("b", 900))
    history.record_turn(TurnId("t1"), "end_turn", TurnUsage(1, 1, 0, 1), 0.5)
    _compact(history, "c1", 3)
    for message in ModelMessagesTypeAdapter.validate_json(REAL.read_bytes())[1:5]:
        history.append(message)
    _compact(history, "c2", 2)
    history.undo_compaction()
    history.record_memory("Looked.")
    history.close()
    return history.path.read_bytes()


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


def fuzz(count: int, seed: int) -> int:
    """Replay `count` damaged logs; returns how many messages they held in all. Raises at the first that fails."""
    chance = random.Random(seed)
    held = 0
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        whole = sample(folder)
        for path in folder.iterdir():
            path.unlink()
        path = folder / "20261201T101500Z_abc.jsonl"
        for number in range(count):
            content = bytearray(whole)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"seed {arguments.seed}", flush=True)  # noqa: T201 - a command says what it does
    held = fuzz(arguments.count, arguments.seed)
    print(f"{arguments.count} damaged logs loaded, {held} messages found in them")  # noqa: T201


if __name__ == "__main__":
    main()
