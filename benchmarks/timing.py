"""How times are taken: contenders take turns, so that what else the machine does falls on all of them."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence


def medians(contenders: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median wall-clock seconds of each, over `rounds` rounds in which each runs once, garbage collected before."""
    taken: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        for times, run in zip(taken, contenders, strict=True):
            gc.collect()
            begin = time.perf_counter()
            result = run()
            times.append(time.perf_counter() - begin)
            del result
    return [statistics.median(times) for times in taken]
