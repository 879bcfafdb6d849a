from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

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


def test_each_part_is_counted_where_a_person_looks_for_it() -> None:
    text = "as many words as it takes to weigh something\n" * 40
    summary = summary_message_with(text, UserPromptPart(text))
    messages: list[ModelMessage] = [
        summary,
        ModelResponse(
            parts=[
                ThinkingPart(text),
                TextPart(text),
                ToolCallPart("t", {"a": text}, "a"),
                NativeToolCallPart("search", {"a": text}, "n"),
                NativeToolReturnPart("search", text, "n"),
            ]
        ),
        ModelRequest(parts=[ToolReturnPart("t", text, "a"), SystemPromptPart(text)]),
        ModelRequest(parts=[RetryFeedbackPart(content=text, retry=RetryInfo(cause="no_output"))]),
    ]
    estimator = Estimator()
    total = Tokens.estimated(estimator.messages(messages))
    shares = breakdown(messages, {}, total, estimator, lambda message: message is summary)
    one = estimator.text(text)
    parts = {category.id: round(category.tokens.count / one) for category in shares}
    assert parts == {
        "instructions": 1,
        "tools": 0,
        "memory": 0,
        "summary": 1,
        "user": 1,
        "assistant": 1,
        "thinking": 1,
        "toolCalls": 2,
        "toolResults": 3,
    }


def summary_message_with(text: str, prompt: UserPromptPart) -> ModelRequest:
    """A summary as a compaction inside a turn leaves it: the record, then the prompt that is being worked on."""
    return ModelRequest(parts=[UserPromptPart(text), prompt])


def test_nothing_weighed_leaves_the_total_to_the_instructions() -> None:
    shares = breakdown([], {}, Tokens.measured(700), Estimator(), is_summary)
    assert {category.id: category.tokens.count for category in shares if category.tokens.count} == {"instructions": 700}
