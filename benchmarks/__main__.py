"""Every benchmark of speed, written into its part of docs/benchmarks.md.

    python -m benchmarks [--only start,prompt,memory,round,micro,scale,estimate,log,stream] [--print]

The policies and the real sessions take longer and have commands of their own: `python -m benchmarks.bench_policies
--write`, `python -m benchmarks.replay_sessions --write`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Final

from benchmarks import (
    bench_estimate,
    bench_initialize,
    bench_log,
    bench_memory,
    bench_micro,
    bench_prompt,
    bench_round,
    bench_scale,
    bench_stream,
)
from benchmarks.report import write_section

REPORTS: Final[Mapping[str, Callable[[], str]]] = {
    "start": bench_initialize.report,
    "prompt": bench_prompt.report,
    "memory": bench_memory.report,
    "round": bench_round.report,
    "micro": bench_micro.report,
    "scale": bench_scale.report,
    "estimate": bench_estimate.report,
    "log": bench_log.report,
    "stream": bench_stream.report,
}


def main() -> None:
    """Run them one after another."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help="names, with commas")
    parser.add_argument("--print", action="store_true", help="print only, and leave docs/benchmarks.md alone")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else list(REPORTS)
    if unknown := [name for name in names if name not in REPORTS]:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(REPORTS)}")
    for name in names:
        text = REPORTS[name]()
        print(f"## {name}\n\n{text}\n", flush=True)
        if not arguments.print:
            write_section(name, text)


if __name__ == "__main__":
    main()
