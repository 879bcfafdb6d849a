"""A session told as lines of plain text: no escape sequence of the log reaches the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from agent_ls.compaction.context import LABELS
from agent_ls.compaction.occupancy import Levels
from agent_ls.inspection.ends import Ends, Item
from agent_ls.inspection.session import (
    Compaction,
    Damage,
    Inspection,
    MessageSeen,
    OrdinalRange,
    PartSeen,
    Shares,
    Step,
    Turn,
)
from agent_ls.log.entries import MemoryEntry, UndoEntry
from agent_ls.memory.sentence import one_line

_EXCERPT_WIDTH: Final = 100
_BAR_WIDTH: Final = 24


def as_text(inspection: Inspection, levels: Levels) -> Iterator[str]:
    """The lines: what it is, what happened in order, each compaction, and what is live now."""
    yield from _head(inspection)
    yield ""
    for entry in _with_gap(inspection.timeline, "turns and lines"):
        match entry:
            case str():
                yield entry
            case Turn():
                yield from _turn(entry, inspection, levels)
            case _:
                yield from _step(entry, inspection, levels)
    for compaction in inspection.compactions:
        yield ""
        yield from _compaction(compaction, inspection)
    yield ""
    yield from _outcome(inspection)


def ranges_in_words(ranges: tuple[OrdinalRange, ...], most: int = 12) -> str:
    """`0-41, 44`, as messages are numbered."""
    words = [str(each.first) if each.first == each.last else f"{each.first}-{each.last}" for each in ranges[:most]]
    if len(ranges) > most:
        words.append("…")
    return ", ".join(words) or "none"


def end_in_words(turn: Turn) -> str:
    """How a turn ended."""
    end = turn.end
    if end is None:
        return "answered" if turn.answered else "interrupted, or still running: no end was logged"
    usage = end.usage
    cost = "" if end.cost is None else f", ${end.cost:.4f}"
    failed = f": {one_line(end.error)}" if end.error else ""
    return (
        f"ended ({end.stop_reason}{failed}): {usage.requests} requests, {usage.input_tokens:,} tokens in "
        f"({usage.cache_read_tokens:,} cached), {usage.output_tokens:,} out{cost}"
    )


def moment(at: datetime) -> str:
    """A time as it is told: UTC, to the second."""
    return at.astimezone(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")


def _head(inspection: Inspection) -> Iterator[str]:
    header = inspection.header
    if header is None:
        yield "no header: the first line is damaged"
    else:
        yield f"session {one_line(header.session_id)}, agent-ls {one_line(header.agent_ls)}"
        yield f"in {one_line(header.workspace)}, since {moment(header.created)} UTC"
    if inspection.title:
        yield f"“{one_line(inspection.title)}”"


def _turn(turn: Turn, inspection: Inspection, levels: Levels) -> Iterator[str]:
    yield f"turn {turn.number}"
    for step in _with_gap(turn.steps, "lines"):
        yield from ([step] if isinstance(step, str) else _step(step, inspection, levels))
    when = "" if turn.end is None else f"{moment(turn.end.at)}  "
    yield f"  {when}turn {turn.number} {end_in_words(turn)}"


def _step(step: Step, inspection: Inspection, levels: Levels) -> Iterator[str]:
    match step:
        case MessageSeen():
            parts = " | ".join(_part(part) for part in step.parts)
            gap = f" | … {step.parts.omitted} parts left out" if step.parts.omitted else ""
            yield f"  {moment(step.at)}  message {step.ordinal}: {step.kind}: {parts}{gap}"
            if step.occupancy is not None:
                share = step.occupancy.count / levels.window
                yield f"{'':23}{_bar(share)} {share:.0%} of the window, {step.occupancy.in_words} tokens"
        case Compaction(number, record):
            undone = ", undone later" if record.compaction_id in inspection.undone else ""
            yield (
                f"  {moment(record.at)}  COMPACTION {number} ({record.trigger}{undone}): "
                f"{record.before.in_words} -> {record.after.in_words} tokens, {record.covers} messages summarised, "
                f"{len(record.tail_ordinals)} kept"
            )
        case UndoEntry():
            yield f"  {moment(step.at)}  UNDO of compaction {one_line(step.compaction_id)}"
        case MemoryEntry():
            said = one_line(step.sentence) if step.sentence else "nothing to remember"
            yield f"  {moment(step.at)}  memory: {said}"
        case Damage():
            yield f"  line {step.line}: {one_line(step.what)}"


def _part(part: PartSeen) -> str:
    excerpt = one_line(part.excerpt)
    cut = f"{excerpt[:_EXCERPT_WIDTH]}…" if len(excerpt) > _EXCERPT_WIDTH else excerpt
    failed = "FAILED " if part.failed else ""
    return " ".join([part.kind, *([] if part.tool is None else [one_line(part.tool)]), f"{failed}{cut}"]).rstrip()


def _compaction(compaction: Compaction, inspection: Inspection) -> Iterator[str]:
    record = compaction.record
    undone = " (undone)" if record.compaction_id in inspection.undone else ""
    yield f"compaction {compaction.number}{undone}: messages {ranges_in_words(compaction.dropped)} went"
    yield f"  before  {_shares(compaction.before)}"
    yield f"  after   {_shares(compaction.after)}"
    if record.cost is not None:
        yield f"  the summary cost ${record.cost:.4f}"
    carried = compaction.carried
    yield (
        f"  carried word for word: {len(carried.words)} messages of the user, {len(carried.changed)} changed files, "
        f"{len(carried.read)} read, {len(carried.commands)} commands"
    )
    for line in compaction.summary.splitlines():
        yield f"  | {one_line(line)}"


def _shares(shares: Shares) -> str:
    largest_first = sorted(shares.items(), key=lambda share: -share[1])
    return ", ".join(f"{LABELS[kind].lower()} ~{count:,}" for kind, count in largest_first if count) or "nothing"


def _outcome(inspection: Inspection) -> Iterator[str]:
    totals = inspection.totals
    yield f"log: {one_line(inspection.log)}, {inspection.size:,} bytes"
    yield f"live: {inspection.live} messages would be seen by the model, of {inspection.messages} logged"
    yield f"said, by kind: {_shares(inspection.shares)}"
    yield (
        f"session: {totals.turns} turns, {totals.requests} requests, {totals.input_tokens:,} tokens in "
        f"({totals.cache_read_tokens:,} cached), {totals.output_tokens:,} out"
        + ("" if totals.cost is None else f", ${totals.cost:.4f}")
    )
    yield f"trouble: {inspection.interrupted} interrupted turns, {len(inspection.failures)} errors"
    for failure in inspection.failures:
        yield f"error: {one_line(failure)}"
    if totals.answered > totals.remembered:
        yield "memory: the write-back is still to be done, at the next start"
    for damage in inspection.damage:
        yield f"warning: line {damage.line}: {one_line(damage.what)}"


def _bar(share: float) -> str:
    full = min(max(round(share * _BAR_WIDTH), 0), _BAR_WIDTH)
    return "█" * full + "░" * (_BAR_WIDTH - full)


def _with_gap(ends: Ends[Item], what: str) -> Iterator[Item | str]:
    yield from ends.first
    if ends.omitted:
        yield f"  … {ends.omitted:,} {what} left out …"
    yield from ends.last
