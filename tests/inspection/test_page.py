"""The page: nothing of a log becomes markup, nothing remote, and what it shows is there without a script."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from unicodedata import category

from hypothesis import given, settings

from agent_ls.inspection.page import as_html
from agent_ls.inspection.reading import inspect_log
from agent_ls.inspection.text import as_text

from ..log.test_replay import log_lines
from .logs import LEVELS, compacted, hostile_logs

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "section", "article", "figure", "figcaption"),
    *("h1", "h2", "h3", "h4", "p", "div", "span", "strong", "bdi", "code", "pre", "time", "a", "ul", "ol", "li"),
    *("dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"),
    *("svg", "desc", "g", "rect", "line", "polyline", "circle", "text"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "scope", "datetime", "open", "role"),
    *("aria-hidden", "viewbox", "preserveaspectratio"),
    *("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "points"),
}
VOID = {"meta", "rect", "line", "polyline", "circle"}


class Page(HTMLParser):
    """What a browser would find: fails on a tag or attribute that the page does not write itself."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.said = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name)
            if name == "href":
                assert value is not None
                assert value.startswith("#")
                self.targets.append(value[1:])
            if name == "id":
                self.ids.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")


def page_of(content: bytes) -> tuple[str, list[str]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(content)
        inspection = inspect_log(path)
        return "".join(as_html(inspection, LEVELS)), list(as_text(inspection, LEVELS))


@settings(max_examples=60)
@given(hostile_logs())
def test_nothing_of_a_hostile_log_becomes_markup_or_an_escape_sequence(content: bytes) -> None:
    html, lines = page_of(content)
    page = Page(html)
    assert set(page.targets) <= set(page.ids)
    assert html.encode()
    for line in [*lines, html.replace("\n", "")]:
        assert not {category(character) for character in line.replace("\t", "")} & {"Cc", "Cs"}
        assert "\u202e" not in line


@settings(max_examples=60)
@given(log_lines())
def test_a_page_of_any_lines_is_well_formed(lines: list[bytes]) -> None:
    page = Page(page_of(b"".join(lines))[0])
    assert len(set(page.ids)) == len(page.ids)


def test_the_policy_allows_the_pages_own_style_and_nothing_else(tmp_path: Path) -> None:
    html = "".join(as_html(inspect_log(compacted(tmp_path)[0]), LEVELS))
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = f"default-src &#x27;none&#x27;; style-src &#x27;sha256-{digest}&#x27;"
    assert policy in html
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert "style=" not in html


def test_a_real_compacted_session_is_shown(tmp_path: Path) -> None:
    path, tail_start = compacted(tmp_path)
    page = Page("".join(as_html(inspect_log(path), LEVELS)))
    assert "1: 9,000 → ~2,000 tokens" in page.said
    assert f"{tail_start} messages went: 0-{tail_start - 1}. 2 were kept as they were." in page.said
    assert "Find the bug." in page.said
    assert "make test → exit code 2" in page.said
    assert "micro 60%" in page.said
    assert "full 80%" in page.said
    assert "interrupted, or still running" in page.said
    assert {"compaction-1", "turn-1", "turns", "compactions"} <= set(page.ids)
    assert "compaction-1" in page.targets
