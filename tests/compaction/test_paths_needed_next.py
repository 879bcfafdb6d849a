"""Recorded sessions: of the files an agent works with next, the compacted context names nearly all (CASCADE §15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse

from agent_ls.compaction.boundary import recent_tail
from agent_ls.compaction.occupancy import Budgets, Measure
from agent_ls.compaction.older import Older
from agent_ls.compaction.summary import parse_summary
from benchmarks.policies.facts import NEXT_ROUNDS, paths_in
from benchmarks.sessions import load_sessions

TAIL = 20_000
MOST_TOKENS = 22_000
CUTS = 6
WINDOW = 200_000


def spelled(messages: Sequence[ModelMessage]) -> str:
    """What is in the messages, metadata left out: no model sees that."""
    return ModelMessagesTypeAdapter.dump_json([replace(message, metadata=None) for message in messages]).decode()


def compacted(messages: Sequence[ModelMessage], measure: Measure) -> list[ModelMessage]:
    """The history after a compaction whose summariser said one stock sentence."""
    budgets = Budgets.of(WINDOW, measure.fixed.count, keep_recent=TAIL, keep_user=8_000)
    boundary = recent_tail(messages, budgets.tail, measure.estimator)
    older = Older(messages[: boundary.index], None)
    summary = parse_summary("The session went well.")
    return [older.summary_message(summary, budgets, measure.estimator), *messages[boundary.index :]]


def test_nine_in_ten_paths_the_agent_needs_next_are_named() -> None:
    needed = named = 0
    sizes = []
    for session in load_sessions():
        messages = session.messages()
        rounds = [index for index, message in enumerate(messages) if isinstance(message, ModelResponse)]
        for cut in rounds[100 :: max((len(rounds) - 110) // CUTS, 1)]:
            measure = Measure()
            measure.resumed(messages[:cut], 0)
            context = compacted(messages[:cut], measure)
            sizes.append(measure.estimator.messages(context))
            seen, now = spelled(messages[:cut]), spelled(context)
            upcoming = [index for index in rounds if index >= cut][:NEXT_ROUNDS]
            wanted = {path for index in upcoming for path in paths_in(messages[index]) if path in seen}
            needed += len(wanted)
            named += sum(path in now for path in wanted)
    assert needed > 50
    assert named / needed >= 0.90
    assert sum(sizes) / len(sizes) <= MOST_TOKENS
