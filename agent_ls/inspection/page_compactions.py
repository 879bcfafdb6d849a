"""The page's section on compactions: before and after, what went, the summary and what was carried."""

from __future__ import annotations

from collections.abc import Iterator

from agent_ls.compaction.context import LABELS
from agent_ls.inspection.chart import shares_bar
from agent_ls.inspection.markup import Markup, element
from agent_ls.inspection.pieces import each, folded, swatch, time
from agent_ls.inspection.session import CarriedSeen, Compaction, Inspection
from agent_ls.inspection.text import ranges_in_words


def compactions(inspection: Inspection) -> Iterator[Markup]:
    """One card for each, and what its colours mean."""
    kinds = {kind for one in inspection.compactions for kind in (*one.before, *one.after)}
    legend = [element("li", swatch(kind), label) for kind, label in LABELS.items() if kind in kinds]
    yield element("ul", legend, class_="legend")
    yield from each(inspection.compactions, lambda one: _card(one, inspection), "compactions")


def _card(compaction: Compaction, inspection: Inspection) -> Markup:
    record = compaction.record
    undone = " · undone later" if record.compaction_id in inspection.undone else ""
    cost = "" if record.cost is None else f" · the summary cost ${record.cost:.4f}"
    gone = sum(span.last - span.first + 1 for span in compaction.dropped)
    return element(
        "article",
        element("h3", f"{compaction.number}: {record.before.in_words} → {record.after.in_words} tokens{undone}"),
        element("p", time(record.at), f" · {record.trigger}{cost}", class_="faint"),
        _before_and_after(compaction),
        element(
            "p",
            f"{gone:,} messages went: {ranges_in_words(compaction.dropped)}. "
            f"{len(record.tail_ordinals):,} were kept as they were. The bars are of messages, estimated from the log; "
            "instructions and tool definitions come on top.",
        ),
        folded("The summary", element("pre", compaction.summary)),
        _carried(compaction.carried),
        class_="card",
        id=f"compaction-{compaction.number}",
    )


def _before_and_after(compaction: Compaction) -> Markup:
    before, after = sum(compaction.before.values()), sum(compaction.after.values())
    widest = max(before, after)
    return element(
        "div",
        element("span", "before"),
        shares_bar(compaction.before, widest, "Before"),
        element("span", f"~{before:,}", class_="number"),
        element("span", "after"),
        shares_bar(compaction.after, widest, "After"),
        element("span", f"~{after:,}", class_="number"),
        class_="before-after",
    )


def _carried(carried: CarriedSeen) -> Markup:
    lists = [
        ("The user’s words", carried.words),
        ("Files changed", carried.changed),
        ("Files read or named", carried.read),
        ("Commands", carried.commands),
    ]
    return folded(
        f"Carried by code, word for word: {len(carried.words)} messages of the user, {len(carried.changed)} changed "
        f"files, {len(carried.read)} read, {len(carried.commands)} commands",
        [[element("h4", name), element("ul", each(kept, _item, "more", "li"))] for name, kept in lists if len(kept)],
    )


def _item(text: str) -> Markup:
    return element("li", element("pre", text))
