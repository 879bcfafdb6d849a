"""Real sessions of other agents (tests/data/sessions) through the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse

from agent_ls.history import Checkpoint, History
from agent_ls.log.dangling import close_dangling_calls
from agent_ls.log.replay import replay, replay_forwards
from agent_ls.protocol import CompactionId
from agent_ls.tokens import Tokens

from .strategies import dump, prompt
from .test_dangling import unpaired

DATA = Path(__file__).parents[1] / "data" / "sessions"
NAMES = sorted(path.name for path in DATA.glob("*.json"))


def load(name: str) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json((DATA / name).read_bytes())


def rounds(messages: list[ModelMessage]) -> Iterator[list[ModelMessage]]:
    """As a session logs them: what is sent, then each response by itself."""
    sent: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            if sent:
                yield sent
            yield [message]
            sent = []
        else:
            sent.append(message)
    if sent:
        yield sent


@pytest.fixture(params=NAMES)
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[History]:
    history = History.create(tmp_path)
    for messages in rounds(load(request.param)):
        history.append(*messages)
    yield history
    history.close()


def test_there_are_sessions() -> None:
    assert len(NAMES) == 3


def test_a_real_session_comes_back_byte_for_byte(history: History) -> None:
    said = history.messages
    history.close()
    again = History.resume(history.path)
    assert dump(again.messages) == dump(said)
    assert dump(again.messages) == dump(close_dangling_calls(said))
    again.close()


def test_a_real_session_cut_at_any_line_and_around_it_is_valid(history: History) -> None:
    middle = len(history.messages) // 2
    history.compact(
        Checkpoint(CompactionId("c"), prompt("s"), middle, "manual", Tokens.measured(2), Tokens.estimated(1))
    )
    history.undo_compaction()
    content = history.path.read_bytes()
    ends = [index for index, byte in enumerate(content) if byte == ord("\n")]
    cuts = {cut for end in ends for cut in (end - 1, end, end + 1, end + 2)} | set(range(0, len(content), 997))
    path = history.path.with_name("cut")
    for cut in sorted(cuts):
        path.write_bytes(content[:cut])
        told = replay(path)
        assert unpaired([each.message for each in told.live]) == []
        assert told == replay_forwards(path)


def test_every_byte_prefix_of_a_real_log_tells_its_complete_lines(tmp_path: Path) -> None:
    history = History.create(tmp_path)
    history.append(*load("cc-tool_heavy.json")[:2])
    history.append(*load("cc-tool_heavy.json")[-1:])
    history.close()
    content = history.path.read_bytes()
    path = tmp_path / "cut"
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        # The first response ends in a call, so with it there is an interrupted result.
        assert len(replay(path).live) == [0, 0, 3, 4][content[:cut].count(b"\n")]
