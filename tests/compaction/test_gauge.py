from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.compaction.gauge import GaugeFacts, context_gauge
from agent_ls.compaction.occupancy import Levels
from agent_ls.protocol import Gauge, GaugeWarning, SessionId
from agent_ls.tokens import NOTHING, Tokens

FACTS = GaugeFacts(
    session_id=SessionId("s"),
    workspace="file:///w",
    model="openai:gpt-5",
    cost=0.25,
    cache_share=0.5,
    last_compaction=None,
    state="idle",
    warnings=[GaugeWarning("unsaved", "Not saved: disk full")],
)
LEVELS = Levels.of(1_000, micro_reserve=0.4, full_reserve=0.2)


def gauge(used: Tokens, levels: Levels = LEVELS) -> Gauge:
    return context_gauge(used, levels, FACTS)


def test_an_empty_session() -> None:
    assert gauge(NOTHING).text == "○ 0%"


def test_an_estimate_is_marked() -> None:
    assert gauge(Tokens.estimated(310)).text == "◔ ~31%"
    assert gauge(Tokens.measured(310)).text == "◔ 31%"


def test_the_level_is_said_in_words_as_well_as_in_colour() -> None:
    full = gauge(Tokens.measured(800))
    assert (full.level, full.color, full.text) == ("full", "red", "◕ 80%")
    assert "80 percent" in full.accessible_text
    assert "summarised" in full.accessible_text
    assert gauge(Tokens.measured(799)).text == "◕ 79%"
    assert gauge(Tokens.measured(600)).color == "yellow"
    assert gauge(Tokens.measured(599)).color == "green"


def test_the_tooltip_tells_what_a_person_asks() -> None:
    tooltip = gauge(Tokens.measured(310)).tooltip
    for words in ("310 of 1,000", "290 to go", "490 to go", "openai:gpt-5", "$0.2500", "50%", "Not saved: disk full"):
        assert words in tooltip


@given(st.integers(0, 10**7), st.integers(1, 10**7), st.integers(1, 98), st.integers(1, 98))
def test_the_percentage_never_runs_ahead_of_the_level(used: int, window: int, one: int, other: int) -> None:
    if one == other:
        return
    full, micro = min(one, other), max(one, other)
    levels = Levels.of(window, micro_reserve=micro / 100, full_reserve=full / 100)
    shown = gauge(Tokens.measured(used), levels)
    assert 0 <= shown.fraction <= 1
    if shown.percent >= 100 - full:
        assert shown.level == "full"
    if shown.level == "ok":
        assert shown.percent <= 100 - micro


def test_fault_14_a_changed_window_changes_gauge_and_levels() -> None:
    wide = gauge(Tokens.measured(800), Levels.of(10_000, micro_reserve=0.4, full_reserve=0.2))
    assert (wide.percent, wide.level, [tier.at for tier in wide.tiers]) == (8, "ok", [6_000, 8_000])


def test_a_warning_is_shown_as_text_not_as_markdown() -> None:
    facts = evolve(FACTS, model="local:a_b_c", warnings=[GaugeWarning("x", "no [click](command:evil) in `~/my_dir`")])
    shown = context_gauge(Tokens.measured(10), LEVELS, facts)
    assert r"no \[click\](command:evil) in \`\~/my\_dir\`" in shown.tooltip
    assert r"local:a\_b\_c" in shown.tooltip
    assert "no [click](command:evil) in `~/my_dir`" in shown.accessible_text


@given(st.integers(0, 10**7), st.booleans())
def test_text_colour_and_words_agree(used: int, is_measured: bool) -> None:
    shown = gauge(Tokens.measured(used) if is_measured else Tokens.estimated(used))
    assert shown.text == f"{shown.glyph} {'~' if used and not is_measured else ''}{shown.percent}%"
    assert f"{shown.percent} percent" in shown.accessible_text
    assert ("about" in shown.accessible_text) is ("~" in shown.text)
    assert shown.color == {"ok": "green", "micro": "yellow", "full": "red"}[shown.level]
    assert shown.level == ("full" if used >= 800 else "micro" if used >= 600 else "ok")
    assert abs("○◔◑◕●".index(shown.glyph) / 4 - min(used / 1_000, 1)) <= 0.125
    assert shown.fraction == min(used / 1_000, 1)
