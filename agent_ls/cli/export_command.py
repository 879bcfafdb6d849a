"""`agent-ls export`: a session's live history, in pydantic-ai's own JSON."""

from __future__ import annotations

import argparse
import sys

from agent_ls.cli.stored_sessions import add_session, chosen_log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[SESSION]`, `--workspace DIR` and `--all`."""
    add_session(parser)
    parser.add_argument(
        "--all", action="store_true", help="every message ever said, instead of what the model would see now"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write it to stdout: what `agent-ls import` and pydantic-ai's ModelMessagesTypeAdapter read."""
    path = chosen_log(arguments)
    from agent_ls.log.replay import originals, replay
    from agent_ls.log.serialisation import dump_messages

    if arguments.all:
        messages = [original.message for original in originals(path)]
    else:
        messages = [live.message for live in replay(path).live]
    sys.stdout.buffer.write(dump_messages(messages) + b"\n")
    return 0
