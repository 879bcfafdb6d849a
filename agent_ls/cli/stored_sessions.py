"""The sessions on disk, as the commands for logs choose among them: `[SESSION] --workspace DIR`."""

from __future__ import annotations

import argparse
from pathlib import Path

from agent_ls.errors import SessionNotFound
from agent_ls.log.catalog import find_session, latest_session
from agent_ls.log.directory import find_session_directory
from agent_ls.protocol import SessionId


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """`--workspace DIR`."""
    parser.add_argument(
        "--workspace", type=Path, default=Path(), metavar="DIR", help="the workspace folder; this one by default"
    )


def add_session(parser: argparse.ArgumentParser) -> None:
    """`[SESSION]` and `--workspace DIR`."""
    parser.add_argument(
        "session", nargs="?", default="latest", metavar="SESSION", help="a session's id; the latest one by default"
    )
    add_workspace(parser)


def workspace_of(arguments: argparse.Namespace) -> Path:
    """The workspace folder, absolute."""
    workspace: Path = arguments.workspace
    return workspace.absolute()


def sessions_of(workspace: Path) -> Path:
    """Where this workspace's logs are. Raises SessionNotFound if no session ever was there; nothing is made."""
    directory = find_session_directory(workspace)
    if directory is None:
        raise SessionNotFound(f"There is no session in {workspace}.", hint="`--workspace` names another folder.")
    return directory.sessions


def chosen_log(arguments: argparse.Namespace) -> Path:
    """The log of the session a person named. Raises SessionNotFound."""
    sessions = sessions_of(workspace_of(arguments))
    if arguments.session == "latest":
        return latest_session(sessions)
    return find_session(sessions, SessionId(arguments.session))
