"""Microcompaction beside pydantic-ai-harness's ClearToolResults, on the same history (DESIGN §9).

    python -m benchmarks.bench_micro [--sessions DIR] [--rounds N]

Both do what a session would have done before a request: decide, blank, and say how much it freed. Times are CPU
times, the best of N rounds; read the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import time
from collections.abc import Callable
from pathlib import Path

from attrs import frozen
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from pydantic_ai_harness.compaction import ClearToolResults

from agent_ls.compaction.boundary import split_tail
from agent_ls.compaction.cascade import is_quiet
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.micro import microcompact
from benchmarks.sessions import RECORDED, history_of, load_sessions

KEEP = 20_000
WINDOW = 1_048_576


@frozen
class Timing:
    """Milliseconds of CPU time, the best of several rounds."""

    ours: float
    ours_first_time: float
    harness: float
    harness_clearing_only: float


def ours(messages: list[ModelMessage], estimator: Estimator) -> None:
    result = microcompact(messages, split_tail(messages, KEEP, estimator), estimator)
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


def best(run: Callable[[], None], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times) * 1_000


def measure(messages: list[ModelMessage], rounds: int) -> Timing:
    estimator = Estimator()
    first = best(lambda: ours(messages, Estimator()), max(rounds // 3, 1))
    estimator.messages(messages)
    return Timing(
        ours=best(lambda: ours(messages, estimator), rounds),
        ours_first_time=first,
        harness=best(lambda: harness_hook(messages), rounds),
        harness_clearing_only=best(lambda: harness_clearing(messages), rounds),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=Path, default=RECORDED)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    sessions = load_sessions(arguments.sessions)
    print(
        "| history | messages | ours | ClearToolResults | **ratio** | its clearing alone | ours, nothing weighed yet |"
    )
    print("|---|---|---|---|---|---|---|")
    timings = []
    for millions in (1, 2):
        messages = history_of(sessions, millions * 1_000_000)
        timing = measure(messages, arguments.rounds)
        timings.append(timing)
        print(
            f"| {millions}M tokens | {len(messages):,} | {timing.ours:.1f} ms | {timing.harness:.1f} ms "
            f"| **{timing.harness / timing.ours:.1f}x** | {timing.harness_clearing_only / timing.ours:.1f}x "
            f"| {timing.ours_first_time:.0f} ms |"
        )
    one, two = timings
    print(f"\nTwice the tokens take {two.ours / one.ours:.2f} times as long.")


if __name__ == "__main__":
    main()
