"""A process that writes a session is killed by the system, over and over; the next one goes on with its log."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from agent_ls.history import History
from agent_ls.log.replay import originals, replay, replay_forwards

from .log.test_dangling import unpaired

KILLS = 6

_WRITER = """
import asyncio, itertools, sys
from pathlib import Path
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from agent_ls.history import Checkpoint, History
from agent_ls.protocol import CompactionId
from agent_ls.tokens import Tokens

history = History.resume(Path(sys.argv[1]))
for number in itertools.count(len(list(history.originals()))):
    history.append(ModelRequest([UserPromptPart(f"prompt {number}" + "x" * (number % 7) * 1000)]))
    calls = ModelResponse([ToolCallPart("read", {}, "a"), ToolCallPart("read", {}, "b")])
    if number % 3 == 0:
        asyncio.run(history.append_durably(calls))
    else:
        history.append(calls)
    history.append(ModelRequest([ToolReturnPart("read", "bytes", "a"), ToolReturnPart("read", "bytes", "b")]))
    history.append(ModelResponse([TextPart("done")]))
    if number % 5 == 4:
        summary = ModelRequest([UserPromptPart("summary")])
        tokens = (Tokens.measured(2), Tokens.estimated(1))
        history.compact(Checkpoint(CompactionId(f"c{number}"), summary, len(history.messages) - 4, "turnEnd", *tokens))
    if number % 11 == 10:
        history.undo_compaction()
    assert history.unsaved_reason is None
    print(len(list(history.originals())), flush=True)
"""


def test_killed_again_and_again_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    history = History.create(tmp_path)
    history.record_memory(None)
    history.close()
    path = history.path
    for kill in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", _WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            acknowledged = 0
            for _ in range(chance.randint(1, 12)):
                acknowledged = int(writer.stdout.readline())
            writer.kill()
        told = replay(path)
        assert told == replay_forwards(path), f"kill {kill} of seed {seed}"
        assert unpaired([each.message for each in told.live]) == []
        numbers = [each.ordinal for each in originals(path)]
        assert len(numbers) >= acknowledged
        assert numbers == list(range(len(numbers)))
