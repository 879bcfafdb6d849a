"""What looks through a history, at one, two and ten million tokens: linear or better.

    python -m benchmarks.bench_scale [--millions 1,2,10] [--rounds N]

The sizes take turns within one run. Growth is how many times as long the larger history takes, divided by how many
times as many messages it has: 1 is linear, 0 is a cost that does not depend on the history.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from agent_ls.compaction.boundary import recent_tail, split_tail
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.gauge import GaugeFacts, context_gauge
from agent_ls.compaction.micro import microcompact
from agent_ls.compaction.occupancy import Levels
from agent_ls.protocol import SessionId
from agent_ls.tokens import Tokens
from benchmarks import callgrind
from benchmarks.bench_micro import KEEP, WINDOW, Sized, sized
from benchmarks.report import machine
from benchmarks.sessions import RECORDED
from benchmarks.timing import medians

LIMIT: Final = 1.0
_MILLION: Final = 1_000_000
_REPEATS: Final = 100
"""A gauge takes microseconds: so many are timed together."""


def microcompaction(history: Sized) -> None:
    """One pass over a weighed history."""
    microcompact(history.messages, recent_tail(history.messages, KEEP, history.estimator), history.estimator)


def gauges(history: Sized) -> None:
    """The gauge of a session that has measured so many tokens, as after each response."""
    levels = Levels.of(WINDOW, micro_reserve=0.4, full_reserve=0.2)
    facts = GaugeFacts(
        session_id=SessionId("s"),
        workspace="file:///w",
        model="openai:gpt-5",
        cost=0.1,
        cache_share=0.9,
        last_compaction=None,
        state="running",
        warnings=[],
    )
    for _ in range(_REPEATS):
        context_gauge(Tokens.measured(history.millions * _MILLION), levels, facts)


PARTS: Final[Mapping[str, Callable[[Sized], object]]] = {
    "microcompaction": microcompaction,
    "boundary, the newest ten results": lambda each: recent_tail(each.messages, KEEP, each.estimator),
    "boundary, a tail of 20,000 tokens": lambda each: split_tail(each.messages, KEEP, each.estimator),
    "estimate, nothing weighed yet": lambda each: Estimator().messages(each.messages),
    "estimate, all weighed": lambda each: each.estimator.messages(each.messages),
    "estimate, of two new messages": lambda each: each.estimator.messages(each.messages[-2:]),
    f"gauge, {_REPEATS} times": gauges,
}


def report(millions: tuple[int, ...] = (1, 2, 10), rounds: int = 9) -> str:
    """The tables of times and of machine instructions."""
    histories = [sized(each, RECORDED) for each in millions]
    sizes = [len(each.messages) for each in histories]
    times = {name: medians([partial(part, each) for each in histories], rounds) for name, part in PARTS.items()}
    lines = _table("time", millions, sizes, {name: [each * 1e3 for each in row] for name, row in times.items()}, "ms")
    messages = ", ".join(f"{each:,}" for each in sizes)
    said = f"{messages} messages. Limit {LIMIT:.0f}: linear. Medians of {rounds}; {machine()}."
    if not callgrind.available():
        return "\n".join([*lines, "", f"{said} No valgrind here: instructions were not counted."])
    counts = iter(callgrind.counted("benchmarks.bench_scale", "--count", "--millions", ",".join(map(str, millions))))
    instructions = {name: [next(counts) / _MILLION for _ in millions] for name in PARTS}
    lines += ["", *_table("machine instructions, by callgrind", millions, sizes, instructions, "M")]
    return "\n".join([*lines, "", said])


def _table(
    what: str, millions: Sequence[int], sizes: Sequence[int], values: Mapping[str, Sequence[float]], unit: str
) -> list[str]:
    steps = [*pairwise(range(len(sizes))), (0, len(sizes) - 1)]
    heads = [f"{each}M tokens" for each in millions]
    heads += [f"**growth {millions[less]}M to {millions[more]}M**" for less, more in steps]
    lines = [f"| {what} | {' | '.join(heads)} |", "|" + "---|" * (1 + len(heads))]
    for name, row in values.items():
        grown = [row[more] / row[less] / (sizes[more] / sizes[less]) for less, more in steps]
        cells = [f"{_short(each)} {unit}" for each in row] + [f"**{each:.2f}**" for each in grown]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _short(value: float) -> str:
    """Three digits that tell."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def count(millions: tuple[int, ...]) -> None:
    """Run each part once to be counted, under valgrind, after once to fill caches."""
    histories = [sized(each, RECORDED) for each in millions]
    runs = [partial(part, each) for part in PARTS.values() for each in histories]
    for run in runs:
        run()
    callgrind.begin()
    for run in runs:
        callgrind.count(run)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--millions", default="1,2,10")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    millions = tuple(int(each) for each in arguments.millions.split(","))
    if arguments.count:
        count(millions)
    else:
        print(report(millions, arguments.rounds))


if __name__ == "__main__":
    main()
