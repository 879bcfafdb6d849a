"""The gauge: how full the window is, in a glyph, a number and words (CASCADE §8). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from agent_ls.compaction.occupancy import Levels
from agent_ls.protocol import (
    Gauge,
    GaugeColor,
    GaugeLevel,
    GaugeWarning,
    LastCompaction,
    SessionId,
    SessionState,
    TierLevel,
)
from agent_ls.tokens import Tokens

_MARKDOWN: Final = re.compile(r"[\\`*_{}\[\]<>#|~!]")
_GLYPHS: Final = "○◔◑◕●"
_COLORS: Final[dict[GaugeLevel, GaugeColor]] = {"ok": "green", "micro": "yellow", "full": "red"}
_LEVEL_WORDS: Final[dict[GaugeLevel, str]] = {
    "ok": "",
    "micro": "old tool outputs are blanked at this level",
    "full": "the conversation is summarised at this level",
}


@frozen(kw_only=True)
class GaugeFacts:
    """What the gauge says besides the number. `cost` in USD, `cache_share` 0..1, None where unknown."""

    session_id: SessionId
    workspace: str
    model: str
    cost: float | None
    cache_share: float | None
    last_compaction: LastCompaction | None
    state: SessionState
    warnings: Sequence[GaugeWarning]


def context_gauge(used: Tokens, levels: Levels, facts: GaugeFacts) -> Gauge:
    """The gauge of a session. The percentage is floored, so "80%" never shows before the level is reached."""
    fraction = min(max(used.count / levels.window, 0.0), 1.0)
    percent = min(used.count * 100 // levels.window, 100)
    level = level_of(used.count, levels)
    mark = "~" if used.count > 0 and not used.is_measured else ""
    glyph = _GLYPHS[round(fraction * (len(_GLYPHS) - 1))]
    return Gauge(
        session_id=facts.session_id,
        workspace=facts.workspace,
        used=used,
        window=levels.window,
        fraction=fraction,
        percent=percent,
        glyph=glyph,
        level=level,
        color=_COLORS[level],
        tiers=[TierLevel("micro", levels.micro), TierLevel("full", levels.full)],
        text=f"{glyph} {mark}{percent}%",
        tooltip=_tooltip(used, levels, facts),
        accessible_text=_accessible(used, percent, level, facts),
        model=facts.model,
        cost=facts.cost,
        cache_share=facts.cache_share,
        last_compaction=facts.last_compaction,
        state=facts.state,
        warnings=list(facts.warnings),
    )


def level_of(used: int, levels: Levels) -> GaugeLevel:
    """The level an occupancy has reached: the same two as the triggers'."""
    if used >= levels.full:
        return "full"
    return "micro" if used >= levels.micro else "ok"


def _tooltip(used: Tokens, levels: Levels, facts: GaugeFacts) -> str:
    lines = [
        f"**Context** {_count(used)} of {levels.window:,} tokens",
        f"Microcompaction at {levels.micro:,} ({_distance(used.count, levels.micro)})",
        f"Full compaction at {levels.full:,} ({_distance(used.count, levels.full)})",
        f"Model {_plain(facts.model)}",
    ]
    if facts.cost is not None:
        lines.append(f"Cost ${facts.cost:.4f}")
    if facts.cache_share is not None:
        lines.append(f"From the prompt cache {facts.cache_share:.0%}")
    if (last := facts.last_compaction) is not None:
        lines.append(f"Last compaction ({last.tier}) {_count(last.before)} → {_count(last.after)} tokens")
    lines += [f"**Note** {_plain(warning.message)}" for warning in facts.warnings]
    return "\n\n".join(lines)


def _plain(text: str) -> str:
    """A text that Markdown shows as it is: names and causes come from outside."""
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(text.split()))


def _count(tokens: Tokens) -> str:
    return f"{'' if tokens.is_measured or not tokens.count else '~'}{tokens.count:,}"


def _distance(used: int, level: int) -> str:
    return "reached" if used >= level else f"{level - used:,} to go"


def _accessible(used: Tokens, percent: int, level: GaugeLevel, facts: GaugeFacts) -> str:
    about = "" if used.is_measured or not used.count else "about "
    parts = [f"Agent context window {about}{percent} percent full"]
    if words := _LEVEL_WORDS[level]:
        parts.append(words)
    if facts.state != "idle":
        parts.append(facts.state)
    parts += [warning.message for warning in facts.warnings]
    return ", ".join(parts)
