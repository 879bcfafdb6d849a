"""Recorded sessions through the real server over HTTP in windows too small for them.

`python -m benchmarks.replay_sessions` does the same with every session and more windows.
"""

from pathlib import Path

import pytest

from benchmarks.replay.run import replay
from tests.simulator.replay import RecordedSession

SESSIONS = Path(__file__).parents[1] / "data" / "sessions"


@pytest.mark.parametrize(
    ("name", "window", "model"),
    [
        ("cc-subagent", 8_000, "openai-chat:gpt-5"),
        ("cc-subagent", 8_000, "anthropic:claude-sonnet-5-5"),
        ("cc-tool_heavy", 32_000, "anthropic:claude-sonnet-5-5"),
    ],
)
def test_a_real_session_is_never_refused_and_loses_no_word_of_the_user(name: str, window: int, model: str) -> None:
    figures = replay(name, RecordedSession.load(SESSIONS / f"{name}.json"), window, model)
    assert figures.details == []
    assert figures.refused == {}
    assert figures.lost == []
    assert figures.errors == {}
    assert figures.unplayed_replies == 0
    assert figures.largest <= window
    assert figures.user_texts >= 4
    assert (figures.micro + figures.full > 0) == (window == 8_000)
