from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from agent_ls.compaction.context import LABELS, advice, breakdown
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.summary import is_summary
from agent_ls.protocol import ContextCategory
from agent_ls.tokens import Tokens
from tests.compaction.histories import histories


@given(histories(), st.integers(0, 10**6), st.integers(0, 9_000), st.integers(0, 9_000))
def test_fault_13_the_parts_sum_to_the_gauge(
    messages: list[ModelMessage], total: int, instructions: int, tools: int
) -> None:
    fixed = {"instructions": instructions, "tools": tools}
    categories = breakdown(messages, fixed, Tokens.measured(total), Estimator(), is_summary)  # type: ignore[arg-type]
    assert sum(category.tokens.count for category in categories) == total
    assert [category.id for category in categories] == list(LABELS)
    assert all(category.tokens.basis == "estimated" for category in categories)


def test_large_instructions_are_named() -> None:
    categories = [ContextCategory("instructions", "Instructions", Tokens.measured(500))]
    assert "shorten" in advice(categories, 1_000)[0]
    assert advice(categories, 10_000) == []
