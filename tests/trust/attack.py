"""What every counted attack shares: work split into shards over processes, a limit on hanging, a row of the table."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

from attrs import frozen

HANGING_SECONDS: Final = 60
"""How long one attempt may take before it counts as hanging: some thousand times what it takes."""

Shard = Callable[[int, str], Mapping[str, int]]
"""Makes so many attempts with this seed; returns what it counted. Raises at the first attempt that is not withstood."""


class Hanging(AssertionError):
    """An attempt did not end."""


@frozen
class Row:
    """One attack of the table. `seed` repeats it; `counted` is what was found on the way."""

    attack: str
    count: int
    seed: str
    seconds: float
    counted: Mapping[str, int]
    most_rss_bytes: int
    """The most memory a process of it held."""

    def __str__(self) -> str:
        counted = ", ".join(f"{number:,} {name}" for name, number in self.counted.items())
        rss = f"{self.most_rss_bytes / 2**20:,.0f} MB"
        return f"| {self.attack} | {self.count:,} | `{self.seed}` | {self.seconds:,.0f} s | {rss} | {counted} |"


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown, as docs/security.md shows them."""
    head = "| attack | count | seed | took | most memory | counted |\n|---|---|---|---|---|---|\n"
    return head + "\n".join(map(str, rows))


def run_shards(attack: str, shard: Shard, count: int, seed: str, *, workers: int, per_shard: int) -> Row:
    """Make `count` attempts in `workers` processes. A shard's seed is `<seed>/<its number>`."""
    begin = time.monotonic()
    sizes = [min(per_shard, count - start) for start in range(0, count, per_shard)]
    counted: Counter[str] = Counter()
    most = 0
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _begin_worker) as pool:
        shards = [pool.submit(_measured, shard, size, f"{seed}/{number}") for number, size in enumerate(sizes)]
        try:
            for number, future in enumerate(shards, 1):
                found, rss = future.result()
                counted.update(found)
                most = max(most, rss)
                _say_progress(attack, number, len(shards))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return Row(attack, count, seed, time.monotonic() - begin, counted, most)


def most_rss_bytes() -> int:
    """The most memory this process held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def rss_bytes(process_id: int) -> int:
    """The memory another process holds now (Linux)."""
    with Path(f"/proc/{process_id}/status").open(encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) * 1024


@contextlib.contextmanager
def limited(seconds: float = HANGING_SECONDS) -> Iterator[Callable[[], object]]:
    """Raises Hanging in the main thread unless what is yielded is called again within `seconds`."""

    def hanging(number: int, frame: object) -> None:
        raise Hanging(f"nothing happened for {seconds:g} s; what waits: {_waiting()}")

    before = signal.signal(signal.SIGALRM, hanging)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield lambda: signal.setitimer(signal.ITIMER_REAL, seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _waiting() -> list[str]:
    """Where the tasks of the running event loop stand, if one runs."""
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:
        return []
    return [f"{task.get_coro()} at {task.get_stack()}" for task in tasks]


def _begin_worker() -> None:
    logging.disable(logging.CRITICAL)  # a warning for each of a million damaged logs


def _measured(shard: Shard, count: int, seed: str) -> tuple[Mapping[str, int], int]:
    return shard(count, seed), most_rss_bytes()


def _say_progress(attack: str, done: int, shards: int) -> None:
    if done % max(1, shards // 20) == 0:
        sys.stderr.write(f"{attack}: {done} of {shards} shards\n")
        sys.stderr.flush()
