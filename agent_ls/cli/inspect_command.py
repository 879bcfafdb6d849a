"""`agent-ls inspect`: what happened in a session, as text or as one HTML page that needs nothing else."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.cli.stored_sessions import add_workspace, chosen_log
from agent_ls.disk.files import PRIVATE_FILE
from agent_ls.settings import DEFAULT_CONTEXT_WINDOW_TOKENS, LiveSettings

if TYPE_CHECKING:
    from agent_ls.compaction.occupancy import Levels


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[LOG|SESSION]`, `--workspace DIR`, `--window N` and `--html FILE`."""
    parser.add_argument(
        "session",
        nargs="?",
        default="latest",
        metavar="LOG|SESSION",
        help="a log's file, or a session's id; the latest session by default",
    )
    add_workspace(parser)
    parser.add_argument(
        "--window", type=_window, metavar="N", help="the window in tokens that shares are of, instead of the setting"
    )
    parser.add_argument("--html", metavar="FILE", help="write one HTML page instead of text; - is stdout")


def run(arguments: argparse.Namespace) -> int:
    """Tell the session. The log is only read, also while a server has it open."""
    named = Path(arguments.session)
    path = named if named.suffix == ".jsonl" and named.is_file() else chosen_log(arguments)
    from agent_ls.inspection.page import as_html
    from agent_ls.inspection.reading import inspect_log
    from agent_ls.inspection.text import as_text

    try:
        inspection = inspect_log(path)
    except OSError as error:
        return _refuse(f"{path} cannot be read: {error}")
    levels = _levels(arguments.window)
    if arguments.html is None:
        for line in as_text(inspection, levels):
            print(line)
        return 0
    page = as_html(inspection, levels)
    if arguments.html == "-":
        sys.stdout.buffer.writelines(chunk.encode() for chunk in page)
        return 0
    try:
        _write(arguments.html, page)
    except OSError as error:
        return _refuse(f"{arguments.html} cannot be written: {error}")
    print(f"Wrote {arguments.html}")
    return 0


def _levels(window: int | None) -> Levels:
    """The levels by the settings in force now: a log does not hold those it was made with."""
    from agent_ls.compaction.occupancy import Levels

    settings = LiveSettings.of_this_process().effective.settings
    return Levels.of(
        window or settings.compaction_context_window_tokens or DEFAULT_CONTEXT_WINDOW_TOKENS,
        micro_reserve=settings.microcompaction_reserve_fraction,
        full_reserve=settings.compaction_reserve_fraction,
    )


def _write(target: str, page: Iterable[str]) -> None:
    """The page, readable for its owner only, as the log is."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(page)


def _window(text: str) -> int:
    window = int(text)
    if window <= 0:
        raise argparse.ArgumentTypeError("a window is greater than 0")
    return window


def _refuse(reason: str) -> int:
    print(f"agent-ls inspect: {reason}", file=sys.stderr)
    return 1
