"""`agent-ls import FILE`: a session in this folder from a pydantic-ai message list."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from agent_ls.cli.stored_sessions import add_workspace, workspace_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`FILE` and `--workspace DIR`."""
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="a JSON array of messages, as export writes; - is stdin"
    )
    add_workspace(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the session and print its id, which `agent/resumeSession` and the other commands take."""
    try:
        data = sys.stdin.buffer.read() if str(arguments.file) == "-" else arguments.file.read_bytes()
        values = json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        return _refuse(f"{arguments.file} cannot be read as JSON: {error}")
    if not isinstance(values, list):
        return _refuse(f"{arguments.file} is no JSON array of messages")
    from agent_ls.history import History
    from agent_ls.log.entries import Unreadable
    from agent_ls.log.own_sessions import OwnSessions
    from agent_ls.log.serialisation import load_each

    messages = load_each(values)
    for index, message in enumerate(messages):
        if isinstance(message, Unreadable):
            return _refuse(f"message {index} of {arguments.file} is no pydantic-ai message: {message.reason}")
    history = History.create(workspace_of(arguments))
    try:
        for message in messages:
            if not isinstance(message, Unreadable):
                # A line each, as a session writes them: a blanked one is read back without its neighbours.
                history.append(message)
        # What was said elsewhere is nothing for this workspace's memory.
        history.record_memory(None)
        if history.unsaved_reason is not None:
            return _refuse(history.unsaved_reason)
    finally:
        history.close()
    OwnSessions.of_this_user().add(history.session_id)
    print(history.session_id)
    return 0


def _refuse(reason: str) -> int:
    print(f"agent-ls import: {reason}", file=sys.stderr)
    return 1
