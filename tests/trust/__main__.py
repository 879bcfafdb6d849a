"""All counted attacks, in full: `scripts/attack`. Prints the seed first and a table at the end.

An attack that is not withstood ends the run with its traceback, which names the seed of its shard; status 1.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Callable, Iterator

from tests.trust.attack import Row, table
from tests.trust.fuzz_frames import attack_frames
from tests.trust.fuzz_log import attack_logs
from tests.trust.fuzz_server import attack_server_frames
from tests.trust.fuzz_texts import attack_texts
from tests.trust.kill_server import attack_server
from tests.trust.load import attack_with_load


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="scripts/attack", description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="kill -9 of the whole server")
    parser.add_argument("--log-mutations", type=int, default=1_000_000, help="damaged session logs")
    parser.add_argument("--frames", type=int, default=100_000, help="damaged frames to the server's code in process")
    parser.add_argument("--server-frames", type=int, default=5_000, help="damaged frames to a server process")
    parser.add_argument("--texts", type=int, default=50_000, help="damaged memory, settings, approvals, summaries")
    parser.add_argument("--workspaces", type=int, default=20, help="turns at once; 0: no load")
    parser.add_argument("--updates", type=int, default=100_000, help="updates of those turns together")
    parser.add_argument("--prompt-bytes", type=int, default=10_000_000, help="the size of a huge prompt")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="repeats a run")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that attack at once")
    arguments = parser.parse_args()
    sys.stdout.write(f"seed {arguments.seed}\n")
    sys.stdout.flush()
    rows: list[Row] = []
    for row in _rows(arguments):
        sys.stderr.write(f"{row}\n")
        rows.append(row)
    sys.stdout.write(f"{table(rows)}\n")


def _rows(arguments: argparse.Namespace) -> Iterator[Row]:
    counted: list[tuple[Callable[..., Row], int]] = [
        (attack_server, arguments.kills),
        (attack_logs, arguments.log_mutations),
        (attack_frames, arguments.frames),
        (attack_server_frames, arguments.server_frames),
        (attack_texts, arguments.texts),
    ]
    for attack, count in counted:
        if count:
            yield attack(count, arguments.seed, workers=arguments.workers)
    if arguments.workspaces:
        yield from attack_with_load(
            workspaces=arguments.workspaces, updates=arguments.updates, prompt_bytes=arguments.prompt_bytes
        )


if __name__ == "__main__":
    main()
