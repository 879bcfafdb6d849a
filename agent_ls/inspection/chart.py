"""Occupancy over a session's requests, and what a compaction did to the window, as SVG that needs no script."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agent_ls.compaction.context import LABELS
from agent_ls.compaction.occupancy import Levels
from agent_ls.inspection.markup import Markup, element
from agent_ls.inspection.session import Inspection, Marked, Point, Shares

_WIDTH, _HEIGHT = 960, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 132, 26, 40
_BAR_WIDTH, _BAR_HEIGHT = 640, 22
_MOST_DOTS: Final = 120
"""Above this many points a line says more than dots do."""
_MOST_NUMBERED_MARKS: Final = 24


def occupancy_chart(inspection: Inspection, levels: Levels) -> Markup:
    """The chart: tier lines, checkpoints as dashed lines with their number, estimates hollow."""
    scale = _Scale(inspection, levels)
    peak = max((point.tokens.count for point in inspection.points), default=0)
    description = (
        f"Occupancy over {inspection.requests} responses in a window of {levels.window:,} tokens. "
        f"The highest was {peak:,}. {len(inspection.compactions)} compactions."
    )
    return element(
        "svg",
        element("title", "Occupancy over time"),
        element("desc", description),
        _grid(scale, levels),
        [_mark(scale, mark, numbered=len(inspection.marks) <= _MOST_NUMBERED_MARKS) for mark in inspection.marks],
        _line(scale, inspection.points),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="chart",
    )


def shares_bar(shares: Shares, scale: int, label: str) -> Markup:
    """One stacked bar, by kind; `scale` is the tokens that its full width stands for."""
    total = sum(shares.values())
    segments = []
    left = 0.0
    for kind in LABELS:
        width = shares.get(kind, 0) / max(scale, 1) * _BAR_WIDTH
        if width > 0:
            tip = element("title", f"{LABELS[kind]}: ~{shares[kind]:,} tokens")
            segments.append(
                element(
                    "g",
                    tip,
                    element("rect", x=_short(left), width=_short(width), height=_BAR_HEIGHT, y=0),
                    class_=f"kind-{kind}",
                )
            )
        left += width
    return element(
        "svg",
        element("title", f"{label}: ~{total:,} tokens"),
        segments,
        viewBox=f"0 0 {_BAR_WIDTH} {_BAR_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        class_="bar",
    )


class _Scale:
    """From requests and tokens to places in the picture."""

    def __init__(self, inspection: Inspection, levels: Levels) -> None:
        self._requests = max(inspection.requests, 1)
        self._first = min((point.request for point in inspection.points), default=0)
        self.top = max([levels.window, *(point.tokens.count for point in inspection.points)])
        self.first, self.last = self._first, self._requests

    def x(self, request: int) -> float:
        """Where a request stands."""
        span = max(self._requests - self._first, 1)
        return _LEFT + (request - self._first) / span * (_WIDTH - _LEFT - _RIGHT)

    def y(self, tokens: int) -> float:
        """Where a number of tokens stands."""
        return _HEIGHT - _BOTTOM - tokens / self.top * (_HEIGHT - _TOP - _BOTTOM)


def _grid(scale: _Scale, levels: Levels) -> Iterator[Markup]:
    right = _WIDTH - _RIGHT
    lines = [
        ("window", levels.window, f"window {_brief(levels.window)}"),
        ("full", levels.full, f"full {levels.full / levels.window:.0%}"),
        ("micro", levels.micro, f"micro {levels.micro / levels.window:.0%}"),
        ("zero", 0, ""),
    ]
    for name, tokens, label in lines:
        y = _short(scale.y(tokens))
        yield element("line", x1=_LEFT, x2=right, y1=y, y2=y, class_=f"level level-{name}")
        yield element("text", _brief(tokens), x=_LEFT - 8, y=y, class_="axis axis-left")
        yield element("text", label, x=right + 8, y=y, class_=f"axis label-{name}")
    bottom = _HEIGHT - _BOTTOM + 20
    yield element("text", f"response {scale.first}", x=_LEFT, y=bottom, class_="axis")
    yield element("text", f"response {scale.last}", x=right, y=bottom, class_="axis axis-left")


def _mark(scale: _Scale, mark: Marked, *, numbered: bool) -> Markup:
    x = _short(scale.x(mark.request))
    word = "undo" if mark.kind == "undo" else f"{mark.number}"
    return element(
        "g",
        element("title", f"{mark.kind} {mark.number or ''} behind response {mark.request}"),
        element("line", x1=x, x2=x, y1=_TOP, y2=_HEIGHT - _BOTTOM),
        element("text", word, x=x, y=_TOP - 8) if numbered else None,
        class_=f"mark mark-{mark.kind}",
    )


def _line(scale: _Scale, points: tuple[Point, ...]) -> Iterator[Markup]:
    placed = [(_short(scale.x(point.request)), _short(scale.y(point.tokens.count)), point) for point in points]
    if len(placed) > 1:
        bottom = _short(scale.y(0))
        corners = " ".join(f"{x},{y}" for x, y, _ in placed)
        yield element("polyline", points=f"{placed[0][0]},{bottom} {corners} {placed[-1][0]},{bottom}", class_="area")
        yield element("polyline", points=corners, class_="occupancy")
    for x, y, point in placed if len(placed) <= _MOST_DOTS else ():
        tip = element("title", f"response {point.request}: {point.tokens.in_words} tokens")
        yield element(
            "g", tip, element("circle", cx=x, cy=y, r=3), class_="dot" if point.tokens.is_measured else "dot estimated"
        )


def _short(place: float) -> str:
    return f"{place:.1f}".removesuffix(".0")


def _brief(tokens: int) -> str:
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens / 1_000:.3g}k" if tokens >= 1_000 else str(tokens)
