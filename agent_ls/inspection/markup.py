"""HTML and SVG whose text is escaped by construction: a string is text, only `element` makes markup.

A log holds what models, tools and web pages said, so any string may be an attack on whoever opens the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from attrs import frozen

from agent_ls.memory.sentence import printable

_EMPTY: Final = frozenset({"meta", "rect", "line", "polyline", "path", "circle"})
"""Elements that hold nothing."""


@frozen
class Markup:
    """Finished markup."""

    html: str


Content = Markup | str | None | Iterable["Content"]
"""What stands in an element: text is escaped, None is nothing."""


def element(name: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """One element. Attribute names have `_` for `-`, and one at their end where Python has the word for itself.

    An attribute that is None is left out. Names come from this package's code only, values from anywhere.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{_written(content)}</{name}>")


def text(value: str) -> str:
    """`value` as HTML text or a quoted attribute's value, without control and invisible characters."""
    return escape(printable(value), quote=True)


def _written(content: Content) -> str:
    match content:
        case None:
            return ""
        case Markup(html):
            return html
        case str():
            return text(content)
        case _:
            return "".join(map(_written, content))
