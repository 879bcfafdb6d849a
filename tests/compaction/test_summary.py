import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

from agent_ls.compaction.carried import Carried, UserWords
from agent_ls.compaction.summary import (
    SECTIONS,
    TITLE,
    NoSummary,
    Summary,
    carried_in,
    is_summary,
    own_parts,
    parse_summary,
    record_in,
    summary_message,
)

HEADINGS = [TITLE, *SECTIONS]


def headings_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


@given(
    st.text(min_size=1) | st.lists(st.sampled_from([*HEADINGS, "# Other", "text", "```", "- item", ""])).map("\n".join)
)
def test_whatever_comes_back_is_the_skeleton_or_a_failure(text: str) -> None:
    try:
        rendered = parse_summary(text).render()
    except NoSummary:
        return
    outside = [line for line in headings_of(rendered) if line in HEADINGS]
    assert outside[: len(HEADINGS)] != []
    assert [heading for heading in outside if outside.count(heading) == 1] != []
    assert rendered.startswith(TITLE)


def test_a_whole_answer_keeps_its_text_under_its_headings() -> None:
    text = "\n".join([TITLE, *(line for heading in SECTIONS for line in (heading, f"about {heading[3:].strip()}"))])
    rendered = parse_summary(text).render()
    assert headings_of(rendered) == HEADINGS
    assert "about Key Decisions" in rendered


def test_missing_headings_say_none_and_foreign_text_goes_to_critical_context() -> None:
    summary = parse_summary("Sure, here it is!\n\n## Goal\nShip it.\n\n## Weather\nSunny.")
    assert summary.sections["## Goal"] == "Ship it."
    assert summary.sections["### Done"] == "None"
    assert "Sure, here it is!" in summary.sections["## Critical Context"]
    assert "Sunny." in summary.sections["## Critical Context"]
    assert headings_of(summary.render()) == HEADINGS


def test_headings_in_a_code_fence_are_text() -> None:
    summary = parse_summary("## Goal\n```md\n## Key Decisions\nno\n```\n## Next Steps\nGo on.")
    assert "## Key Decisions" in summary.sections["## Goal"]
    assert summary.sections["## Key Decisions"] == "None"
    assert summary.sections["## Next Steps"] == "Go on."


@pytest.mark.parametrize("text", ["", "  \n\t\n", TITLE, "## Goal\n\n## Progress\n", "\n".join(HEADINGS)])
def test_fault_23_an_answer_that_says_nothing_is_no_summary(text: str) -> None:
    with pytest.raises(NoSummary):
        parse_summary(text)


@given(st.integers(400, 2_000))
def test_a_summary_is_clipped_to_its_budget(limit: int) -> None:
    summary = Summary(
        {"## Goal": "\n".join(f"- item {number}" for number in range(2_000)), "## Next Steps": "x" * 3_000}
    )
    clipped = summary.clipped(lambda text: len(text) <= limit + 900)
    assert len(clipped.render()) <= limit + 900


@given(st.integers(0, 40), st.integers(300, 700))
def test_headings_in_a_code_fence_stay_text_when_its_beginning_is_cut(before: int, limit: int) -> None:
    lines = ["filler"] * 40 + ["## Next Steps", "Delete everything."] + ["filler"] * 20 + ["```"]
    text = "\n".join([TITLE, "## Critical Context", *lines[:before], "```", *lines[before:]])
    clipped = parse_summary(text).clipped(lambda text: len(text) <= limit)
    assert parse_summary(clipped.render()).sections["## Next Steps"] == "None"


def test_fault_20_the_message_is_framed_as_a_record_and_the_prompt_follows() -> None:
    prompt = [UserPromptPart(["look", "here"]), UserPromptPart("and there")]
    message = summary_message(parse_summary("## Goal\nShip."), Carried(), "", prompt)
    first = str(message.parts[0].content)  # type: ignore[union-attr]
    assert "no new task" in first
    assert list(message.parts[1:]) == prompt
    assert list(own_parts(message)) == prompt
    assert is_summary(message)


def test_what_is_carried_survives_the_log() -> None:
    carried = Carried(words=(UserWords("Use tabs.\n# not a heading", "2026-12-01T10:00:00Z"),), read=("a.py",))
    message = summary_message(parse_summary("## Goal\nShip."), carried, "text")
    (loaded,) = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json([message]))
    assert carried_in(loaded) == carried
    assert is_summary(loaded)


def test_lines_are_those_of_markdown_whatever_else_separates_lines() -> None:
    summary = parse_summary("## Goal\u2028not a line\r\n## Next Steps\rGo on.\x0b\x0c\x85\n## Key Decisions\nTabs.")
    assert summary.sections["## Next Steps"].startswith("Go on.")
    assert summary.sections["## Key Decisions"] == "Tabs."


@pytest.mark.parametrize("mark", ["```", "```markdown", "~~~", "````md"])
def test_an_answer_that_is_one_code_fence_is_taken_out_of_it(mark: str) -> None:
    fence = mark.rstrip("markdown")
    assert parse_summary(f"{mark}\n# Conversation summary\n## Goal\nShip.\n{fence}").sections["## Goal"] == "Ship."


def test_thoughts_in_the_answer_are_no_part_of_it() -> None:
    summary = parse_summary("<think>## Goal\nwrong</think>\n## Goal\nShip.")
    assert summary.sections["## Goal"] == "Ship."
    assert "wrong" not in summary.render()


@given(
    st.lists(
        st.sampled_from(["```", "~~~~", "text", "  ```py", "- item", "````", "", "<!-- x", "<pre>", "> ```"]),
        max_size=9,
    ).map("\n".join),
)
def test_a_fence_left_open_does_not_swallow_the_headings_after_it(text: str) -> None:
    goal = parse_summary(f"## Goal\nx\n{text}").sections["## Goal"]
    rendered = Summary({"## Goal": goal, "## Next Steps": "Go on."}).render()
    assert parse_summary(rendered).sections["## Next Steps"] == "Go on."


def test_headings_in_quotes_and_lists_are_text() -> None:
    summary = parse_summary("## Goal\n> ## Key Decisions\n\n- # Conversation summary\n\nmore")
    assert "## Key Decisions" in summary.sections["## Goal"]
    assert "more" in summary.sections["## Goal"]


@given(st.dictionaries(st.sampled_from(SECTIONS), st.text(max_size=300)), st.integers(250, 900))
def test_any_summary_can_be_clipped(sections: dict[str, str], limit: int) -> None:
    assert len(Summary(sections).clipped(lambda text: len(text) <= limit + 250).render()) <= limit + 250


def test_the_record_is_read_back_from_metadata_not_from_text() -> None:
    summary = parse_summary("## Goal\nShip.")
    message = summary_message(summary, Carried(), "# Files changed\n- a.py")
    (loaded,) = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json([message]))
    assert record_in(loaded) == summary
    assert record_in(ModelRequest(parts=[UserPromptPart("# Conversation summary")])) is None
