"""A session told as one HTML page: nothing remote, no script, and nothing that a log says can become either.

`markup.py` escapes every string, and the page's own policy forbids all but its one style sheet, named by its hash: were
there a hole, a browser would still run, load and send nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from agent_ls.compaction.context import LABELS
from agent_ls.compaction.occupancy import Levels
from agent_ls.inspection.chart import occupancy_chart, shares_bar
from agent_ls.inspection.markup import Content, Markup, element
from agent_ls.inspection.page_compactions import compactions
from agent_ls.inspection.page_turns import timeline
from agent_ls.inspection.pieces import each, swatch, time
from agent_ls.inspection.session import Damage, Inspection, Shares

_STYLE: Final = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
_CAPTION: Final = (
    "Tokens that the provider counted for each response; hollow dots are estimates. Dashed upright lines are "
    "compactions, by number. In a session of agent_ls a fall without one is microcompaction, which changes memory only "
    "and leaves no line in a log."
)


def as_html(inspection: Inspection, levels: Levels) -> Iterator[str]:
    """The page, in pieces."""
    title = inspection.title or "A session without a prompt"
    yield '<!doctype html>\n<html lang="en">\n<head>\n'
    for piece in (
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{title[:80]} · agent-ls inspect"),
    ):
        yield f"{piece.html}\n"
    # Not through `element`: a style sheet is no text, and its hash is of these very bytes.
    yield f"<style>{_STYLE}</style>\n</head>\n<body>\n"
    for part in (_head(inspection, title), element("main", _main(inspection, levels))):
        yield f"{part.html}\n"
    yield "</body>\n</html>\n"


def _head(inspection: Inspection, title: str) -> Markup:
    header = inspection.header
    about: Content = (
        ["Its first line is damaged: no header."]
        if header is None
        else ["session ", element("code", header.session_id), f" in {header.workspace}, since ", time(header.created)]
    )
    return element("header", element("h1", title), element("p", about), _numbers(inspection))


def _main(inspection: Inspection, levels: Levels) -> Iterator[Markup]:
    yield element(
        "section",
        element("h2", "How full the window was"),
        element(
            "figure",
            occupancy_chart(inspection, levels),
            element(
                "figcaption",
                _CAPTION,
                f" The levels are those of a window of {levels.window:,} tokens by the settings of the reader: the log "
                "does not hold the window it was made with.",
            ),
        ),
    )
    yield element("section", element("h2", "What was said, by kind"), _by_kind(inspection.shares))
    if len(inspection.compactions):
        yield element("section", element("h2", "Compactions"), compactions(inspection), id="compactions")
    if len(inspection.failures) or len(inspection.damage):
        yield element("section", element("h2", "Trouble"), _trouble(inspection), id="trouble")
    yield element("section", element("h2", "Turn by turn"), timeline(inspection), id="turns")


def _numbers(inspection: Inspection) -> Markup:
    totals = inspection.totals
    cached = f"{totals.cache_read_tokens / totals.input_tokens:.0%}" if totals.input_tokens else "–"
    numbers = [
        ("Turns", f"{inspection.turns:,}"),
        ("Interrupted turns", f"{inspection.interrupted:,}"),
        ("Tokens in", f"{totals.input_tokens:,}"),
        ("From the cache", cached),
        ("Tokens out", f"{totals.output_tokens:,}"),
        ("Cost", "unknown" if totals.cost is None else f"${totals.cost:.4f}"),
        ("Compactions", f"{len(inspection.compactions):,}"),
        ("Messages live", f"{inspection.live:,} of {inspection.messages:,}"),
    ]
    return element(
        "dl", [element("div", element("dt", name), element("dd", value)) for name, value in numbers], class_="numbers"
    )


def _by_kind(shares: Shares) -> Iterator[Markup]:
    total = sum(shares.values())
    yield shares_bar(shares, total, "All that was said")
    rows = [
        element(
            "tr",
            element("td", swatch(kind), label),
            element("td", f"~{shares[kind]:,}", class_="number"),
            element("td", f"{shares[kind] / total:.0%}", class_="number"),
        )
        for kind, label in LABELS.items()
        if shares.get(kind)
    ]
    head = element(
        "tr",
        element("th", "Kind", scope="col"),
        element("th", "Tokens, estimated", scope="col", class_="number"),
        element("th", "Share", scope="col", class_="number"),
    )
    yield element("table", element("thead", head), element("tbody", rows))


def _trouble(inspection: Inspection) -> Iterator[Markup]:
    yield from each(inspection.failures, _card, "errors")
    yield from each(inspection.damage, _damage, "lines")


def _damage(damage: Damage) -> Markup:
    return _card(f"line {damage.line}: {damage.what}")


def _card(text: str) -> Markup:
    return element("div", text, class_="card bad")
