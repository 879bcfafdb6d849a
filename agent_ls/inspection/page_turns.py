"""The page's section on what was said: a fold for each turn, a row for each message and each thing that happened."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from agent_ls.compaction.context import LABELS
from agent_ls.inspection.markup import Content, Markup, element
from agent_ls.inspection.pieces import each, time
from agent_ls.inspection.session import Compaction, Damage, Inspection, MessageSeen, PartSeen, Step, Turn
from agent_ls.inspection.text import end_in_words
from agent_ls.log.entries import MemoryEntry, UndoEntry

_UNFOLDED_TURNS: Final = 3
"""A session of up to this many turns shows them unfolded."""
_PROMPT_CHARACTERS: Final = 160


def timeline(inspection: Inspection) -> Iterator[Markup]:
    """Every turn that is kept, and what happened between them."""
    return each(inspection.timeline, partial(_entry, inspection), "turns and lines")


def _entry(inspection: Inspection, entry: Turn | Step) -> Markup:
    return _turn(inspection, entry) if isinstance(entry, Turn) else element("ol", _step(inspection, entry))


def _turn(inspection: Inspection, turn: Turn) -> Markup:
    failed = turn.interrupted or (turn.end is not None and turn.end.stop_reason != "end_turn")
    return element(
        "details",
        element(
            "summary",
            element("strong", f"{turn.number} "),
            element("bdi", turn.prompt[:_PROMPT_CHARACTERS] or "(no prompt)", class_="prompt"),
            element("span", end_in_words(turn), class_="ended bad-text" if failed else "ended"),
        ),
        element("ol", each(turn.steps, partial(_step, inspection), "lines", "li")),
        class_="turn",
        id=f"turn-{turn.number}",
        open="" if inspection.turns <= _UNFOLDED_TURNS else None,
    )


def _step(inspection: Inspection, step: Step) -> Markup:
    match step:
        case MessageSeen():
            return _message(inspection, step)
        case Compaction(number, record):
            change = f": {record.before.in_words} → {record.after.in_words} tokens ({record.trigger})"
            return _row("mark", "✂", _to_compaction(number, "Compaction"), change)
        case UndoEntry():
            return _row("mark", "↶", f"Compaction {step.compaction_id} was undone")
        case MemoryEntry():
            return _row("memory", "✎", f"Remembered: {step.sentence}" if step.sentence else "Nothing to remember")
        case Damage():
            return _row("bad-text", "!", f"line {step.line}: {step.what}")


def _message(inspection: Inspection, message: MessageSeen) -> Markup:
    went = next((one.number for one in inspection.compactions if _took(inspection, one, message.ordinal)), None)
    counted = None if message.occupancy is None else f" · {message.occupancy.in_words} tokens in"
    covered = None if went is None else (" · summarised by ", _to_compaction(went, "compaction"))
    return _row(
        "said" if went is None else "covered",
        str(message.ordinal),
        each(message.parts, _part, "parts"),
        element("div", time(message.at), counted, covered, class_="faint when"),
    )


def _took(inspection: Inspection, compaction: Compaction, ordinal: int) -> bool:
    undone = compaction.record.compaction_id in inspection.undone
    return not undone and any(ordinal in span for span in compaction.dropped)


def _part(part: PartSeen) -> Markup:
    whole = part.characters <= len(part.excerpt)
    size = f" ~{part.tokens:,} tokens" + ("" if whole else f", {part.characters:,} characters, the first ones:")
    kind = LABELS[part.category] + ("" if part.tool is None else f" · {part.tool}")
    return element(
        "div",
        element("span", kind, class_=f"kind kind-{part.category}"),
        element("span", size, class_="faint"),
        element("strong", " failed", class_="bad-text") if part.failed else None,
        element("pre", part.excerpt) if part.excerpt else None,
        class_="part",
    )


def _to_compaction(number: int, word: str) -> Markup:
    return element("a", f"{word} {number}", href=f"#compaction-{number}")


def _row(kind: str, place: str, *content: Content) -> Markup:
    return element("li", element("span", place, class_="place"), element("div", *content), class_=f"step {kind}")
