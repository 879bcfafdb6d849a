"""`agent-ls inspect`: what a session's log holds, line by line, and what a resume would make of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.cli.stored_sessions import add_session, chosen_log
from agent_ls.memory.sentence import one_line
from agent_ls.tokens import Tokens

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from agent_ls.log.entries import LogEntry, Unreadable
    from agent_ls.log.replay import Replayed

_EXCERPT_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[SESSION]` and `--workspace DIR`."""
    add_session(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print each line of the log in a few words, then what is live. The log is only read, also while it is in use."""
    path = chosen_log(arguments)
    for line in _lines_of(path):
        print(line)
    from agent_ls.log.replay import replay

    print()
    for line in _outcome(replay(path), path):
        print(line)
    return 0


def _lines_of(path: Path) -> Iterator[str]:
    from agent_ls.log.codec import BadLine, decode, salvage
    from agent_ls.log.lines import forwards

    with path.open("rb") as file:
        for number, line in enumerate(forwards(file)):
            try:
                described = list(_described(decode(line.data)))
            except BadLine as bad:
                whole = salvage(line.data)
                use = "skipped on resume" if whole is None else "only its end is used on resume"
                described = [f"BAD LINE, {use}: {bad}", *([] if whole is None else _described(whole))]
            for position, text in enumerate(described):
                label = str(number) if position == 0 else ""
                yield f"{label:>5}  {text}"


def _described(entry: LogEntry) -> Iterator[str]:
    from agent_ls.log.entries import (
        CompactionEntry,
        Header,
        MemoryEntry,
        MessagesEntry,
        TurnEntry,
        UndoEntry,
        UnknownEntry,
    )

    match entry:
        case Header():
            yield f"{_time(entry.created)}  session {entry.session_id}, agent-ls {entry.agent_ls}, in {entry.workspace}"
        case MessagesEntry():
            for ordinal, message in enumerate(entry.messages, entry.ordinal):
                yield f"{_time(entry.at)}  message {ordinal}: {_message(message)}"
        case CompactionEntry(record):
            yield (
                f"{_time(record.at)}  COMPACTION {record.compaction_id} ({record.trigger}): {record.covers} messages "
                f"summarised, {len(entry.tail)} kept, {_tokens(record.before)} -> {_tokens(record.after)} tokens"
            )
        case UndoEntry():
            yield f"{_time(entry.at)}  undo of compaction {entry.compaction_id}"
        case TurnEntry():
            usage = entry.usage
            cost = "" if entry.cost is None else f", ${entry.cost:.4f}"
            failed = f": {one_line(entry.error)}" if entry.error else ""
            yield (
                f"{_time(entry.at)}  turn ended ({entry.stop_reason}{failed}): {usage.requests} requests, "
                f"{usage.input_tokens:,} tokens in ({usage.cache_read_tokens:,} cached), "
                f"{usage.output_tokens:,} out{cost}"
            )
        case MemoryEntry():
            yield f"{_time(entry.at)}  memory: {one_line(entry.sentence) if entry.sentence else 'nothing to remember'}"
        case UnknownEntry():
            yield f"unknown line of type {entry.type!r}, kept and skipped"


def _message(message: ModelMessage | Unreadable) -> str:
    from agent_ls.log.entries import Unreadable

    if isinstance(message, Unreadable):
        return f"UNREADABLE, left out on resume: {message.reason}"
    parts = []
    for part in message.parts:
        content = getattr(part, "content", None)
        if part.part_kind == "tool-call":
            content = f"{part.tool_name}({part.args})"
        elif not isinstance(content, str):
            content = "" if content is None else repr(content)
        excerpt = one_line(content[: _EXCERPT_WIDTH * 4])
        cut = f"{excerpt[:_EXCERPT_WIDTH]}…" if len(excerpt) > _EXCERPT_WIDTH else excerpt
        parts.append(f"{part.part_kind} {cut}".rstrip())
    return f"{message.kind}: {' | '.join(parts)}"


def _outcome(replayed: Replayed, path: Path) -> Iterator[str]:
    totals = replayed.totals
    yield f"log: {path}, {path.stat().st_size:,} bytes"
    yield f"live: {len(replayed.live)} of {replayed.next_ordinal} messages would be seen by the model"
    yield (
        f"session: {totals.turns} turns, {totals.requests} requests, {totals.input_tokens:,} tokens in, "
        f"{totals.output_tokens:,} out" + ("" if totals.cost is None else f", ${totals.cost:.4f}")
    )
    if totals.answered > totals.remembered:
        yield "memory: the write-back is still to be done, at the next start"
    yield from (f"warning: {warning}" for warning in replayed.warnings)


def _tokens(tokens: Tokens) -> str:
    return f"{'' if tokens.is_measured else '~'}{tokens.count:,}"


def _time(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
