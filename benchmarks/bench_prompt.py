"""What a person waits for besides the model: a warm prompt through the whole server, beside a plain run.

    python -m benchmarks.bench_prompt [--prompts N]

Both ask the same simulator over HTTP for a short streamed answer. Ours goes over stdio from a client's request to its
result, with the log synced to the disk; the plain one is pydantic-ai's `Agent.run` in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pydantic_ai import Agent

from agent_ls.models import resolve_model
from benchmarks.report import machine
from tests.e2e.raw_client import RawClient
from tests.simulator import Reply, Simulator

LIMIT_MS: Final = 50.0
_MODEL: Final = "openai:gpt-5"
_WARM_UP: Final = 3


def milliseconds(ask: Callable[[], object], prompts: int) -> float:
    """The median of asking so often, after warming up."""
    taken = []
    for _ in range(_WARM_UP + prompts):
        begin = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken[_WARM_UP:]) * 1e3


def report(prompts: int = 30) -> str:
    """The sentence."""
    with tempfile.TemporaryDirectory() as folder, Simulator(otherwise=Reply("Yes.")) as simulator:
        workspace = Path(folder, "workspace")
        workspace.mkdir()
        with RawClient(environ=simulator.environment, home=Path(folder, "home")) as client:
            client.initialize(workspace, settings={"model": _MODEL, "memoryCompressionEnabled": False})
            ours = milliseconds(lambda: client.request("agent/prompt", {"prompt": "Are you there?"}), prompts)
            client.shut_down()
        agent = Agent(resolve_model(_MODEL, environ=simulator.environment).model)
        with asyncio.Runner() as runner:
            plain = milliseconds(lambda: runner.run(agent.run("Are you there?")), prompts)
    return (
        f"A warm prompt, from the client's request to its result: {ours:.0f} ms; a plain `Agent.run` against the same "
        f"simulated provider {plain:.0f} ms. agent_ls' own part is {ours - plain:.0f} ms, "
        f"**{(ours - plain) / LIMIT_MS:.2f}** of the {LIMIT_MS:.0f} ms wanted. Medians of {prompts}; {machine()}."
    )


def main() -> None:
    """Print the sentence."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--prompts", type=int, default=30)
    print(report(parser.parse_args().prompts))


if __name__ == "__main__":
    main()
