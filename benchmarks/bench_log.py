"""The log: append and history size, resume beside parsing what is live, a list of a thousand sessions.

    python -m benchmarks.bench_log [--megabytes 20,200]

"Parsing the live part" is one pydantic validation of the live messages' JSON, read from memory: no lines, no places, no
pairing. A resume also finds them, gives each its place in the log and closes what dangles.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse, UserPromptPart

from agent_ls.garbage import collector_paused
from agent_ls.history import Checkpoint, History
from agent_ls.log.catalog import list_sessions
from agent_ls.log.replay import replay
from agent_ls.protocol import CompactionId
from agent_ls.tokens import Tokens
from benchmarks.report import machine
from benchmarks.sessions import RECORDED, load_sessions
from benchmarks.timing import medians

RESUME_LIMIT: Final = 2.0
LIST_LIMIT_MS: Final = 100.0
LISTED: Final = 1_000
_APPENDS: Final = 200
_TAIL: Final = 6
_HEAD_BYTES: Final = 8192


def _messages() -> Iterator[ModelMessage]:
    for session in itertools.cycle(load_sessions(RECORDED)):
        yield from session.messages()


def fill(history: History, megabytes: float) -> None:
    """Append recorded messages, one a line, until the log has grown by so much."""
    begin = history.path.stat().st_size if history.path.exists() else 0
    for message in _messages():
        history.append(message)
        if history.path.stat().st_size - begin >= megabytes * 1e6:
            return


@contextmanager
def _a_log(megabytes: float, live: float) -> Iterator[History]:
    """A log of that size, of which so much is live: the rest is behind a checkpoint."""
    folder = Path(tempfile.mkdtemp(prefix="agent-ls-bench-"))
    history = History.create(folder, directory=folder)
    try:
        if live < megabytes:
            fill(history, megabytes - live)
            history.compact(
                Checkpoint(
                    CompactionId("bench"),
                    ModelRequest(parts=[UserPromptPart("# Conversation summary")]),
                    len(history.messages) - _TAIL,
                    "manual",
                    Tokens.estimated(1),
                    Tokens.estimated(1),
                )
            )
        fill(history, live)
        yield history
    finally:
        history.close()
        shutil.rmtree(folder)


def microseconds_to_append(history: History) -> float:
    """Median of appending a short answer, as a line of its own."""
    answer = ModelResponse(parts=[])
    taken = []
    for _ in range(_APPENDS):
        begin = time.perf_counter()
        history.append(answer)
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken) * 1e6


def resume_row(megabytes: float, live: float) -> tuple[str, float]:
    """A row of the table, and microseconds per append."""
    with _a_log(megabytes, live) as history:
        append = microseconds_to_append(history)
        body = ModelMessagesTypeAdapter.dump_json(list(history.messages))
        path, count = history.path, len(history.messages)
        history.close()

        def parse() -> object:
            with collector_paused():
                return ModelMessagesTypeAdapter.validate_json(body)

        parsing, resuming = medians([parse, lambda: replay(path)], 7)
    row = (
        f"| {megabytes:.0f} MB | {len(body) / 1e6:.1f} MB, {count:,} messages | {parsing * 1e3:.0f} ms "
        f"| {resuming * 1e3:.0f} ms | **{resuming / parsing:.2f}** |"
    )
    return row, append


def first_lines(folder: Path) -> list[bytes]:
    """What any list must do at least: find each log, ask for its times, read where its title stands."""
    read = []
    with os.scandir(folder) as entries:
        for entry in entries:
            entry.stat()
            with Path(entry).open("rb", buffering=0) as file:
                read.append(file.read(_HEAD_BYTES))
    return read


def seconds_to_list() -> tuple[float, float]:
    """Medians of listing a thousand sessions of some turns each and of `first_lines`, files in the page cache."""
    folder = Path(tempfile.mkdtemp(prefix="agent-ls-bench-"))
    try:
        messages = _messages()
        for _ in range(LISTED):
            history = History.create(folder, directory=folder)
            history.append(ModelRequest(parts=[UserPromptPart("What does this do?")]))
            for message in itertools.islice(messages, 5):
                history.append(message)
            history.close()
        listing, reading = medians([lambda: list_sessions(folder), lambda: first_lines(folder)], 7)
        return listing, reading
    finally:
        shutil.rmtree(folder)


def report(sizes: tuple[float, ...] = (20.0, 200.0)) -> str:
    """The tables."""
    lines = [
        "| log | live of it | parsing that alone | resume | **resume to parsing** |",
        "|---|---|---|---|---|",
    ]
    appends = []
    for megabytes in sizes:
        for live in dict.fromkeys((min(megabytes, 20.0), 4.0)):
            row, append = resume_row(megabytes, live)
            lines.append(row)
            appends.append((live, append))
    with _a_log(0.1, 0.1) as small:
        least = microseconds_to_append(small)
    most_live, most = max(appends)
    listing, reading = seconds_to_list()
    said = (
        f"Limit of a resume: {RESUME_LIMIT:.0f}. Appending a line at {most_live:.0f} MB of live history takes "
        f"**{most / least:.2f}** of what it takes at 0.1 MB ({most:.0f} and {least:.0f} µs, not synced). Listing "
        f"{LISTED:,} sessions takes {listing * 1e3:.0f} ms, **{listing * 1e3 / LIST_LIMIT_MS:.2f}** of the "
        f"{LIST_LIMIT_MS:.0f} ms wanted and {listing / reading:.1f} times `scandir`, `stat` and one read of each. "
        f"Medians of 7; {machine()}."
    )
    return "\n".join([*lines, "", said])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", default="20,200")
    arguments = parser.parse_args()
    print(report(tuple(float(each) for each in arguments.megabytes.split(","))))


if __name__ == "__main__":
    main()
