"""Which rules of the user's were changed by a later one: found, and not found where nothing changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.compaction.carried import UserWords
from agent_ls.compaction.carried_text import words_text
from agent_ls.compaction.changed_rules import changed_rules, rule_like
from agent_ls.compaction.estimate import Estimator


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The budget cap is $300 total.", "The budget cap is $750 total."),
        ("Always format with tabs.", "Actually, format with spaces, not tabs."),
        ("Never commit to main.", "From now on you may commit to main yourself."),
        ("The deadline is 2027-01-02.", "Update: the deadline moved to 2027-02-03."),
    ],
)
def test_a_later_rule_about_the_same_changes_the_earlier(earlier: str, later: str) -> None:
    assert changed_rules([earlier, "Read the README.", later]) == {0: 2}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Always format with tabs.", "Always format with tabs."),
        ("Always format with tabs.", "Never commit to main."),
        ("Read the README.", "Read the CHANGELOG."),
    ],
)
def test_the_same_again_or_about_something_else_changes_nothing(earlier: str, later: str) -> None:
    assert changed_rules([earlier, later]) == {}


def test_of_three_only_the_last_is_current() -> None:
    texts = [f"The budget cap is ${cap} total." for cap in (300, 500, 750)]
    assert changed_rules(texts) == {0: 2, 1: 2}
    said = words_text([UserWords(text, "2026-12-01T10:00:00Z") for text in texts], 1_000, Estimator())
    assert [line.split("]")[0] for line in said.splitlines()[2:]] == [
        "[1, 2026-12-01 10:00, in part changed by 3",
        "[2, 2026-12-01 10:00, in part changed by 3",
        "[3, 2026-12-01 10:00, current: changes 1, 2",
    ]


def test_a_rule_in_a_long_line_comes_with_the_sentence_before_it() -> None:
    line = "data " * 100 + ". For the rest of this session. Write every number as a word. " + "data " * 100
    assert rule_like(line) == ["For the rest of this session. Write every number as a word."]


def test_of_a_message_too_long_to_show_the_rules_are_shown() -> None:
    log = "\n".join(f"12:00:{number:02} GET /items/{number}" for number in range(2_000))
    texts = ["Fix the service.", f"{log}\nNever restart the database.\n{log}", *["ok, go on"] * 30]
    said = words_text([UserWords(text, "2026-12-01T10:00:00Z") for text in texts], 600, Estimator())
    assert "- Never restart the database." in said
    assert "not shown whole; it begins “12:00:00 GET /items/0" in said


@given(st.lists(st.text(max_size=80), max_size=12))
def test_any_text_can_be_compared_and_only_later_ones_change_earlier_ones(texts: list[str]) -> None:
    assert all(earlier < later for earlier, later in changed_rules(texts).items())


@given(
    texts=st.lists(st.sampled_from(["ok", "Always use tabs.", "word " * 200, "Never push. " + "x " * 400]), min_size=1),
    budget=st.integers(200, 3_000),
)
def test_the_users_words_stay_within_their_budget(texts: list[str], budget: int) -> None:
    said = words_text([UserWords(text, "2026-12-01T10:00:00Z") for text in texts], budget, Estimator())
    assert Estimator().text(said) <= budget + 60
