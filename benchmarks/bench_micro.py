"""Microcompaction beside pydantic-ai-harness's ClearToolResults, on the same history (DESIGN §9).

    python -m benchmarks.bench_micro [--sessions DIR] [--rounds N] [--millions 1,2,10]

Both do what a session would have done before a request: decide, blank, and say how much it freed. The contenders and
the sizes take turns; read the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from pathlib import Path

from attrs import frozen
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from pydantic_ai_harness.compaction import ClearToolResults

from agent_ls.compaction.boundary import recent_tail
from agent_ls.compaction.cascade import is_quiet
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.micro import microcompact
from benchmarks.report import machine
from benchmarks.sessions import RECORDED, history_of, load_sessions
from benchmarks.timing import medians

KEEP = 20_000
WINDOW = 1_048_576


@frozen
class Sized:
    """A history of so many million tokens, each message weighed once as in a session that has come to it."""

    millions: int
    messages: list[ModelMessage]
    estimator: Estimator


def ours(messages: list[ModelMessage], estimator: Estimator) -> None:
    result = microcompact(messages, recent_tail(messages, KEEP, estimator), estimator)
    assert result.parts_elided
    assert not is_quiet(result.tokens_freed, WINDOW, 0.02)


def harness_hook(messages: list[ModelMessage]) -> None:
    """What the harness runs before a request above its trigger."""
    capability: ClearToolResults[None] = ClearToolResults(max_tokens=1_000, keep_pairs=3)
    model = TestModel()

    async def run() -> None:
        # The hook writes into the lists it is given.
        context = RunContext(deps=None, model=model, usage=RunUsage(), messages=list(messages))
        request = ModelRequestContext(
            model=model,
            messages=list(messages),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        await capability.before_model_request(context, request)

    asyncio.run(run())


def harness_clearing(messages: list[ModelMessage]) -> None:
    capability: ClearToolResults[None] = ClearToolResults(max_tokens=1_000, keep_pairs=3)
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), messages=messages)
    asyncio.run(capability.compact(messages, context))


def sized(millions: int, directory: Path) -> Sized:
    """That history."""
    messages, estimator = history_of(load_sessions(directory), millions * 1_000_000), Estimator()
    estimator.messages(messages)
    return Sized(millions, messages, estimator)


def report(directory: Path = RECORDED, rounds: int = 15, millions: tuple[int, ...] = (1, 2, 10)) -> str:
    """The table, and how the time grows with the history."""
    histories = [sized(each, directory) for each in millions]
    lines = [
        "| history | messages | ours | ClearToolResults | **it to ours** | its clearing alone | nothing weighed yet |",
        "|---|---|---|---|---|---|---|",
    ]
    grown = medians([partial(ours, each.messages, each.estimator) for each in histories], rounds * 2)
    for each, alone in zip(histories, grown, strict=True):
        contenders = [
            lambda each=each: ours(each.messages, each.estimator),
            lambda each=each: harness_hook(each.messages),
            lambda each=each: harness_clearing(each.messages),
            lambda each=each: ours(each.messages, Estimator()),
        ]
        own, hook, clearing, first = medians(contenders, rounds if each.millions < 5 else max(rounds // 3, 3))
        lines.append(
            f"| {each.millions}M tokens | {len(each.messages):,} | {alone * 1e3:.1f} ms | {hook * 1e3:.0f} ms "
            f"| **{hook / own:.1f}** | {clearing / own:.1f} | {first * 1e3:.0f} ms |"
        )
    growth = [
        f"{len(more.messages) / len(less.messages):.2f} times the messages take **{slow / fast:.2f}** times as long"
        for (less, fast), (more, slow) in zip(
            zip(histories, grown, strict=True), list(zip(histories, grown, strict=True))[1:], strict=False
        )
    ]
    return "\n".join([*lines, "", f"{'; '.join(growth)}. Medians; {machine()}."])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=Path, default=RECORDED)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--millions", default="1,2,10")
    arguments = parser.parse_args()
    millions = tuple(int(each) for each in arguments.millions.split(","))
    print(report(arguments.sessions, arguments.rounds, millions))


if __name__ == "__main__":
    main()
