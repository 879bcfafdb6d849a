"""`agent-ls serve`: the language server, on stdin and stdout."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that editors pass to any language server; stdio is the only transport there is."""
    parser.add_argument(
        "--stdio", action="store_true", help="the only transport there is, accepted for editors that ask"
    )
    parser.add_argument(
        "--clientProcessId", dest="client_process_id", type=int, metavar="PID", help="accepted, not needed"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until the editor says `exit` or goes away."""
    if sys.stdin.isatty():
        print(
            "agent-ls waits for an editor on stdin. To try it in a terminal: `agent-ls demo`, `agent-ls chat`.",
            file=sys.stderr,
        )
    from agent_ls.server import main as serve

    serve()
