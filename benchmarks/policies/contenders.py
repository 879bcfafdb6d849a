"""The policies that are compared, and how each is set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from attrs import frozen

from benchmarks.policies import harness
from benchmarks.policies.harness import Harness
from benchmarks.policies.ours import Ours
from benchmarks.policies.policy import DropOldest, Plain, Policy, Setting

_NO_MICRO: Final = 0.99
"""Of the window: no pass frees as much, so that none is made."""


@frozen
class Contender:
    """A policy by its name."""

    name: str
    make: Callable[[Setting], Policy]


def _keeping(target: float, keep_share: float) -> Callable[[Setting], Policy]:
    make = partial(harness.tiered_keeping_user_messages, target=target, keep_share=keep_share)
    return lambda setting: Harness(setting, make)


OURS: Final = Contender("**agent_ls**", Ours)
CONTENDERS: Final[Sequence[Contender]] = (
    OURS,
    Contender(
        "agent_ls, full compaction only", lambda setting: Ours(setting, microcompaction_min_reclaim_fraction=_NO_MICRO)
    ),
    Contender("Tiered, user messages kept, 50 %, tail 20 %", _keeping(0.5, 0.2)),
    Contender("Tiered, user messages kept, 60 %, tail 10 %", _keeping(0.6, 0.1)),
    Contender("Tiered, user messages kept, 60 %, tail 30 %", _keeping(0.6, 0.3)),
    Contender("Tiered, user messages kept, 70 %, tail 30 %", _keeping(0.7, 0.3)),
    Contender("Tiered, as in its README", lambda setting: Harness(setting, harness.tiered_as_shipped)),
    Contender("SummarizingCompaction", lambda setting: Harness(setting, harness.summarizing)),
    Contender("ClearToolResults", lambda setting: Harness(setting, harness.clear_tool_results)),
    Contender("SlidingWindowCompaction", lambda setting: Harness(setting, harness.sliding_window)),
    Contender("drop oldest", DropOldest),
    Contender("no compaction", Plain),
)
