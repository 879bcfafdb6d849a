"""The summariser every policy asks: deterministic, of realistic length, good at what a summary is for.

It copies lines out of its question: rules, decisions, errors and lines that name files, newest first, a quarter of the
answer for each. The answer has 5 % of the question's tokens, at least 300 and at most 1,500, as real summarisers' do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import define
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from benchmarks.policies.facts import DECISION, ERROR, PATH, RULE
from tests.simulator.openai_chat import ENCODING
from tests.simulator.tokens import count_text

_SHARE: Final = 0.05
_FEWEST, _MOST = 300, 1_500
_LONGEST_LINE: Final = 240
_KINDS: Final = (RULE, DECISION, ERROR, PATH)
STOCK_SENTENCE: Final = "The session went well."


@define
class FakeSummarizer:
    """Answers, and tells `on_call` the tokens of question and answer. Refuses what its window cannot hold.

    `null`: it writes one stock sentence instead (CASCADE §15).
    """

    window: int
    on_call: Callable[[int, int], None]
    null: bool = False

    @property
    def model(self) -> FunctionModel:
        """The summariser as pydantic-ai's model."""
        return FunctionModel(self._answer)

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        question = "\n".join(_texts(messages))
        asked = count_text(question, ENCODING)
        if asked > self.window:
            raise ModelHTTPError(400, "summarizer", {"code": "context_length_exceeded", "message": "too long"})
        answer = STOCK_SENTENCE if self.null else summary_of(question, asked)
        written = count_text(answer, ENCODING)
        self.on_call(asked, written)
        usage = RequestUsage(input_tokens=asked, output_tokens=written)
        return ModelResponse(parts=[TextPart(answer)], usage=usage)


def summary_of(question: str, tokens: int) -> str:
    """The answer to a question of so many tokens."""
    room = int(min(max(tokens * _SHARE, _FEWEST), _MOST))
    lines = [line.strip()[:_LONGEST_LINE] for line in question.splitlines()]
    newest_first = list(dict.fromkeys(line for line in reversed(lines) if len(line) > 3))
    chosen: dict[str, None] = {}
    for number, kind in enumerate(_KINDS, 1):
        left = room * number // len(_KINDS) - _count(chosen)
        for line in newest_first:
            if left <= 0:
                break
            if line not in chosen and kind.search(line):
                chosen[line] = None
                left -= count_text(line, ENCODING) + 2
    items = "\n".join(f"- {line}" for line in reversed(chosen))
    return f"# Conversation summary\n## Goal\nGo on with the task.\n## Critical Context\n{items}"


def _count(lines: dict[str, None]) -> int:
    return sum(count_text(line, ENCODING) + 2 for line in lines)


def _texts(messages: list[ModelMessage]) -> list[str]:
    texts = []
    for message in messages:
        if isinstance(message, ModelRequest):
            texts += [message.instructions or ""]
            texts += [str(part.content) for part in message.parts if isinstance(part, UserPromptPart)]
    return texts
