"""Pieces that several sections of the page are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from agent_ls.inspection.ends import Ends, Item
from agent_ls.inspection.markup import Content, Markup, element
from agent_ls.inspection.text import moment


def each(ends: Ends[Item], show: Callable[[Item], Markup], what: str, holder: str = "div") -> Iterator[Markup]:
    """Every item that is kept, and between them a line that says how many `what` were left out."""
    yield from map(show, ends.first)
    if ends.omitted:
        yield element(holder, f"… {ends.omitted:,} {what} left out …", class_="faint")
    yield from map(show, ends.last)


def folded(title: str, *content: Content) -> Markup:
    """What unfolds at a click, without a script."""
    return element("details", element("summary", title), *content)


def swatch(kind: str) -> Markup:
    """The colour of a kind of tokens."""
    return element("span", class_=f"swatch kind-{kind}", aria_hidden="true")


def time(at: datetime) -> Markup:
    """A moment, for readers and for programs."""
    return element("time", f"{moment(at)} UTC", datetime=at.astimezone(UTC).isoformat())
