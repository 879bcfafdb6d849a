"""A strict provider simulator: OpenAI Chat Completions and Anthropic Messages over HTTP on the loopback.

look = Reply(tool_calls=[ToolCall("read_file", {"path": "a.py"})])
with Simulator(window=16_000, replies=[look, Reply("done")]) as sim:
    ...  # run the product with sim.environment
    assert not sim.refused
    assert sim.exchanges[-1].usage.input < 16_000
"""

from tests.simulator.recorded import Exchange, RecordedRequest
from tests.simulator.refusal import Refusal
from tests.simulator.replies import Failure, Interruption, Outcome, Reply, ToolCall, Usage, drop, hang
from tests.simulator.server import API_KEY, Simulator

__all__ = [
    "API_KEY",
    "Exchange",
    "Failure",
    "Interruption",
    "Outcome",
    "RecordedRequest",
    "Refusal",
    "Reply",
    "Simulator",
    "ToolCall",
    "Usage",
    "drop",
    "hang",
]
