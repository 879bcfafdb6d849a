"""Compaction policies beside each other, on recorded sessions, request by request (docs/benchmarks.md).

    python -m benchmarks.bench_policies [--held-out | --sessions DIR] [--windows 8,16,32,48,200] [--write]

At every model request of a session each policy decides which history is sent; a real tokenizer counts it, a strict
provider's rules check it, a prompt cache's prices bill it. `--write` puts the tables into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.policies.contenders import CONTENDERS, Contender
from benchmarks.policies.fidelity import fidelity_table
from benchmarks.policies.recording import recording_of
from benchmarks.policies.simulate import Prepared, simulate
from benchmarks.policies.tables import Row, table, verdict
from benchmarks.report import machine, write_section
from benchmarks.sessions import HELD_OUT, RECORDED, Session, load_sessions

WINDOWS: Final = "48,8,16,32,200"
HELD_OUT_WINDOWS: Final = "16,8"
"""They are short: in larger windows nothing has to be compacted."""
_LEGEND: Final = """\
{sessions} recorded sessions, {requests:,} requests; measured on {machine}.

- *billed, to ours*: tokens with a prompt cache's prices, summary calls included; in brackets where requests were
  refused or not sent, which the bill then leaves out. Output and every first sight of a message cost all the same.
- *rules*, *paths*, *errors*, *decisions*: share of the requests' due facts whose exact text is in them; in brackets
  with what the `recall` tool finds. *last ten outputs*: share of the ten newest tool outputs that is there in full."""


def rows_of(sessions: Sequence[Session], window: int, contenders: Sequence[Contender] = CONTENDERS) -> list[Row]:
    """Every policy on every session, in a window of so many tokens."""
    prepared = [Prepared.of(recording_of(each.name, each.messages(), window), window) for each in sessions]
    return [Row(each.name, [asyncio.run(simulate(session, each.make)) for session in prepared]) for each in contenders]


def main() -> None:
    """Print the tables, and write them if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=Path, default=RECORDED)
    parser.add_argument("--held-out", action="store_true", help="the sessions that had no part in choosing the policy")
    parser.add_argument("--windows", help="thousands of tokens, with commas")
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md")
    arguments = parser.parse_args()
    # Policies say what they do in the log; here the tables tell.
    logging.disable(logging.CRITICAL)
    sessions = load_sessions(HELD_OUT if arguments.held_out else arguments.sessions)
    windows = arguments.windows or (HELD_OUT_WINDOWS if arguments.held_out else WINDOWS)
    requests = sum(recording_of(each.name, each.messages(), 1_000_000).requests for each in sessions)
    parts = [_LEGEND.format(sessions=len(sessions), requests=requests, machine=machine())]
    for window in (int(each) * 1_000 for each in windows.split(",")):
        rows = rows_of(sessions, window)
        parts += [f"### A window of {window:,} tokens", table(rows), verdict(rows)]
        print("\n\n".join(parts[-3:]), flush=True)
    if not arguments.held_out:
        parts += ["### What a compaction leaves", fidelity_table(sessions)]
        print(parts[-1])
    if arguments.write:
        write_section("held-out" if arguments.held_out else "policies", "\n\n".join(parts))


if __name__ == "__main__":
    main()
