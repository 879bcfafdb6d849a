"""`agent-ls sessions`: the sessions of a folder, newest first."""

from __future__ import annotations

import argparse
import json

from agent_ls.cli.stored_sessions import add_workspace, sessions_of, workspace_of
from agent_ls.errors import SessionNotFound
from agent_ls.log.catalog import SessionRow, list_sessions
from agent_ls.log.own_sessions import OwnSessions
from agent_ls.memory.sentence import one_line

_TITLE_WIDTH = 60
_FOREIGN = " (begun elsewhere)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--workspace DIR` and `--json`."""
    add_workspace(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """List them. No session is no failure."""
    try:
        rows = list_sessions(sessions_of(workspace_of(arguments)))
    except SessionNotFound:
        rows = []
    own = OwnSessions.of_this_user().ids()
    if arguments.json:
        for row in rows:
            print(json.dumps(_as_json(row, foreign=row.session_id not in own)))
    elif not rows:
        print(f"There is no session in {workspace_of(arguments)} yet.")
    else:
        print(f"{'SESSION':<18}{'LAST USED':<19}{'MESSAGES':>8}  TITLE")
        for row in rows:
            print(_line(row, foreign=row.session_id not in own))
    return 0


def _line(row: SessionRow, *, foreign: bool) -> str:
    title = one_line(row.title)
    if len(title) > _TITLE_WIDTH:
        title = f"{title[: _TITLE_WIDTH - 1]}…"
    used = row.updated.astimezone().strftime("%Y-%m-%d %H:%M")
    return f"{row.session_id:<18}{used:<19}{row.messages:>8}  {title}{_FOREIGN if foreign else ''}"


def _as_json(row: SessionRow, *, foreign: bool) -> dict[str, object]:
    return {
        "sessionId": row.session_id,
        "title": row.title,
        "createdAt": row.created.isoformat(),
        "updatedAt": row.updated.isoformat(),
        "messages": row.messages,
        "foreign": foreign,
        "path": str(row.path),
    }
