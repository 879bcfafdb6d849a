"""Recorded sessions of real agents through the whole product, in windows that are far too small for them.

    python -m benchmarks.replay_sessions [--sessions DIR] [--windows 8000,...] [--model NAME] [--write] [--verbose]

Each session is played turn by turn by a server process of its own, over stdio, whose model is the strict simulator,
over HTTP: the recorded replies, and the recorded results out of the product's own tools. Afterwards the session is
asked for everything the user said in it. Exits with 1 where a request was refused, one was larger than the window, a
call was left without its result or a user's text was lost.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.replay.run import Figures, replay
from benchmarks.report import machine, write_section
from benchmarks.sessions import RECORDED, load_sessions
from tests.simulator.replay import RecordedSession

_WINDOWS: Final = (8_000, 16_000, 32_000, 200_000)
_HEADINGS: Final = (
    "session",
    "window",
    "turns",
    "requests",
    "refused",
    "largest / window",
    "micro",
    "full",
    "user texts",
    "recalled",
    "lost",
    "dangling",
    "replies cut",
    "unplayed",
    "errors",
)


def main() -> int:
    """Print the table; the process's status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay_sessions", description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=Path, default=RECORDED, help="a directory of pydantic-ai message lists")
    parser.add_argument("--windows", type=_numbers, default=_WINDOWS, help="tokens, separated by commas")
    parser.add_argument("--only", default="", help="sessions with this in their name")
    parser.add_argument("--model", default="openai-chat:gpt-5", help="or anthropic:claude-sonnet-5-5")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    parser.add_argument("--verbose", action="store_true", help="also what was refused, and errors in full")
    arguments = parser.parse_args()
    figures: list[Figures] = []
    sys.stdout.write(_line(_HEADINGS) + _line(["---"] * len(_HEADINGS)))
    for session in load_sessions(arguments.sessions):
        if arguments.only not in session.name:
            continue
        recorded = RecordedSession.of(session.messages())
        for window in arguments.windows:
            figures.append(replay(session.name, recorded, window, arguments.model))
            sys.stdout.write(_line(_row(figures[-1])))
            if arguments.verbose:
                for detail in figures[-1].details:
                    sys.stdout.write(f"    {detail}\n")
            sys.stdout.flush()
    sys.stdout.write(_line(_total(figures)))
    if arguments.write:
        write_section("replay", _section(figures, arguments.model))
    return 0 if all(each.reached for each in figures) else 1


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _row(figures: Figures) -> list[str]:
    return [
        figures.session,
        f"{figures.window:,}",
        f"{figures.turns}",
        f"{figures.requests:,}",
        _by_kind(figures.refused),
        f"{figures.largest / figures.window:.2f}",
        f"{figures.micro}",
        f"{figures.full}",
        f"{figures.user_texts}",
        f"{figures.recalled}",
        f"{len(figures.lost)}",
        f"{figures.refused.get('unpaired', 0)}",
        f"{figures.cut_replies}",
        f"{figures.unplayed_replies}",
        _by_kind(figures.errors),
    ]


def _total(figures: Sequence[Figures]) -> list[str]:
    refused = sum((Counter(each.refused) for each in figures), Counter[str]())
    errors = sum((Counter(each.errors) for each in figures), Counter[str]())
    return [
        "**total**",
        "",
        f"{sum(each.turns for each in figures)}",
        f"{sum(each.requests for each in figures):,}",
        _by_kind(refused),
        f"{max((each.largest / each.window for each in figures), default=0):.2f}",
        f"{sum(each.micro for each in figures)}",
        f"{sum(each.full for each in figures)}",
        f"{sum(each.user_texts for each in figures)}",
        f"{sum(each.recalled for each in figures)}",
        f"{sum(len(each.lost) for each in figures)}",
        f"{refused['unpaired']}",
        f"{sum(each.cut_replies for each in figures)}",
        f"{sum(each.unplayed_replies for each in figures)}",
        _by_kind(errors),
    ]


def _by_kind(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "0"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _section(figures: Sequence[Figures], model: str) -> str:
    rows = [_HEADINGS, ["---"] * len(_HEADINGS), *map(_row, figures), _total(figures)]
    return f"`{model}` as the simulator plays it. {machine()}.\n\n" + "".join(map(_line, rows))


if __name__ == "__main__":
    sys.exit(main())
