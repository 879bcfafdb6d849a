"""Recorded sessions through the real server over HTTP in windows too small for them (issue 3).

`python -m benchmarks.replay_sessions` does the same with every session and more windows.
"""

from pathlib import Path

import pytest

from benchmarks.replay.run import replay
from tests.simulator.replay import RecordedSession

SESSIONS = Path(__file__).parents[1] / "data" / "sessions"


@pytest.mark.parametrize("window", [8_000, 32_000])
@pytest.mark.parametrize("name", ["cc-subagent", "cc-tool_heavy"])
def test_a_real_session_is_never_refused_and_loses_no_word_of_the_user(name: str, window: int) -> None:
    figures = replay(name, RecordedSession.load(SESSIONS / f"{name}.json"), window, "openai-chat:gpt-5")
    assert figures.details == []
    assert figures.refused == {}
    assert figures.lost == []
    assert figures.errors == {}
    assert figures.largest <= window
    assert figures.user_texts >= 4
    assert (figures.micro + figures.full > 0) == (name == "cc-subagent" and window == 8_000)
