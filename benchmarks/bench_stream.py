"""From a provider's delta over HTTP, through the whole server, to the client's hands, beside a plain run.

    python -m benchmarks.bench_stream [--deltas N]

Each delta is the moment its provider sent it. The plain run is pydantic-ai's `Agent.run` with a handler of its stream's
events, in this process: the same SDK and the same framework, nothing shown to anyone.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from pydantic_ai import Agent
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

from agent_ls.models import resolve_model
from benchmarks import bench_notifications
from benchmarks.bench_memory import resident_mib
from benchmarks.bench_notifications import LEAST_RATE
from benchmarks.report import machine
from benchmarks.stream_provider import FLOOD, PACED, provider
from tests.e2e.raw_client import Json
from tests.trust.load import PausingClient

ANSWER_LIMIT_MS: Final = 100.0
SLOW_SECONDS: Final = 0.01
_MODEL: Final = "openai:gpt-5"
_PACED_DELTAS: Final = 1_000
_WARM_UP: Final = 20
_PROBE_SECONDS: Final = 0.02
_SETTINGS: Final = {
    "model": _MODEL,
    "memoryCompressionEnabled": False,
    "compactionContextWindowTokens": 100_000_000,
}


@frozen
class Arrival:
    """A delta in the client's hands; both in nanoseconds of the same clock."""

    sent: int
    arrived: int

    @property
    def milliseconds(self) -> float:
        """How long it was on its way."""
        return (self.arrived - self.sent) / 1e6


@frozen
class Answers:
    """Milliseconds that other requests took during a stream."""

    taken: Sequence[float]

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.taken)


class WatchingClient(PausingClient):
    """A client that notes when each delta came, and may take its time for every message."""

    def __init__(self, **options: Any) -> None:
        self.arrivals: list[Arrival] = []
        self.updates = 0
        self.answered: dict[int, int] = {}
        self.slow = False
        super().__init__(**options)

    def received(self) -> Iterator[Json]:
        for message in super().received():
            now = time.perf_counter_ns()
            if "method" not in message:
                self.answered[message["id"]] = now
            elif message["method"] == "agent/update":
                update = message["params"]["update"]
                if update["sessionUpdate"] == "agent_message_chunk":
                    self.updates += 1
                    self.arrivals += [Arrival(int(sent), now) for sent in update["content"]["text"].split()]
                if self.slow:
                    time.sleep(SLOW_SECONDS)
            yield message

    def stream(self, order: str, *, probed: bool = False) -> Answers:
        """A turn that streams what is ordered; with `probed`, other requests meanwhile and how long they took."""
        self.arrivals, self.updates = [], 0
        turn = self.start_request("agent/prompt", {"prompt": order})
        taken = []
        while probed and turn not in self.answered:
            begin = time.perf_counter_ns()
            probe = self.start_request("agent/context", {})
            while probe not in self.answered:
                self.receive()
            taken.append((self.answered[probe] - begin) / 1e6)
            time.sleep(_PROBE_SECONDS)
        while turn not in self.answered:
            self.receive()
        return Answers(taken)


async def plain(environ: Mapping[str, str], order: str) -> list[Arrival]:
    """The same of a plain run."""
    arrivals: list[Arrival] = []

    async def events(context: Any, stream: Any) -> None:
        async for event in stream:
            match event:
                case (
                    PartStartEvent(part=TextPart(content=text))
                    | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
                ):
                    now = time.perf_counter_ns()
                    arrivals.extend(Arrival(int(sent), now) for sent in text.split())
                case _:
                    continue

    await Agent(resolve_model(_MODEL, environ=environ).model).run(order, event_stream_handler=events)
    return arrivals


def rate(arrivals: Sequence[Arrival]) -> float:
    """Deltas a second, from the first that was sent to the last that came."""
    return len(arrivals) / (arrivals[-1].arrived - arrivals[0].sent) * 1e9


def latencies(arrivals: Sequence[Arrival]) -> tuple[float, float]:
    """Median and 99th percentile, in milliseconds, after warming up."""
    ordered = sorted(each.milliseconds for each in arrivals[_WARM_UP:])
    return statistics.median(ordered), ordered[len(ordered) * 99 // 100]


def in_order(arrivals: Sequence[Arrival], deltas: int) -> bool:
    """Whether all came, in the order they were sent."""
    sent = [each.sent for each in arrivals]
    return len(sent) == deltas and sent == sorted(sent)


def report(deltas: int = 50_000) -> str:
    """The tables."""
    paced, flood = f"{PACED} {_PACED_DELTAS}", f"{FLOOD} {deltas}"
    with tempfile.TemporaryDirectory() as folder, provider() as environ:
        workspace = Path(folder, "workspace")
        workspace.mkdir()
        with asyncio.Runner() as runner:
            runner.run(plain(environ, f"{FLOOD} 100"))
            plain_median, plain_p99 = latencies(runner.run(plain(environ, paced)))
            plain_rate = rate(runner.run(plain(environ, flood)))
        with WatchingClient(environ=environ, home=Path(folder, "home")) as client:
            client.initialize(workspace, settings=_SETTINGS)
            client.stream(f"{FLOOD} 100")
            client.stream(paced)
            median, p99 = latencies(client.arrivals)
            client.stream(flood)
            assert in_order(client.arrivals, deltas)
            own_rate = rate(client.arrivals)
            answers = client.stream(flood, probed=True)
            before, client.slow = resident_mib(client), True
            client.stream(flood)
            client.slow = False
            assert in_order(client.arrivals, deltas)
            updates, grown = client.updates, resident_mib(client) - before
            client.shut_down()
    streams = (
        f"With the provider's SDK and pydantic-ai a stream is {own_rate / LEAST_RATE:.2f} of the {LEAST_RATE:,} deltas "
        f"a second wanted; a plain run's {plain_rate / LEAST_RATE:.2f} is the most that can come out of the two. What "
        f"is agent_ls' own, from the event to the client: {bench_notifications.report()}"
    )
    meanwhile = (
        f"Another request during a flood of {deltas:,} deltas: {answers.median:.0f} ms median, "
        f"{max(answers.taken):.0f} ms at most of {len(answers.taken)} (**{answers.median / ANSWER_LIMIT_MS:.2f}** of "
        f"the {ANSWER_LIMIT_MS:.0f} ms wanted). A client that takes {SLOW_SECONDS * 1e3:.0f} ms for every update gets "
        f"the same {deltas:,} deltas, all of them and in order, in {updates:,} updates "
        f"(**{deltas / updates:,.0f}** deltas joined in one); the server grew by {grown:.0f} MiB meanwhile."
    )
    lines = [
        "| from a provider's delta to the client | plain `Agent.run` | agent_ls | **to its peer** |",
        "|---|---|---|---|",
        f"| one delta every 2 ms: median | {plain_median:.2f} ms | {median:.2f} ms | **{median / plain_median:.2f}** |",
        f"| p99 | {plain_p99:.2f} ms | {p99:.2f} ms | **{p99 / plain_p99:.2f}** |",
        f"| deltas a second | {plain_rate:,.0f} | {own_rate:,.0f} | **{own_rate / plain_rate:.2f}** |",
        *("", streams, "", meanwhile, "", f"{machine()}."),
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--deltas", type=int, default=50_000)
    print(report(parser.parse_args().deltas))


if __name__ == "__main__":
    main()
