"""What is before a compaction boundary, and the summary message that takes its place (CASCADE §6, §9, §12)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from attrs import frozen
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart

from agent_ls.compaction.boundary import answers_a_call
from agent_ls.compaction.carried import Carried
from agent_ls.compaction.carried_text import lists_text, words_text
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.occupancy import Budgets
from agent_ls.compaction.summary import Summary, carried_in, own_parts, record_in, summary_message


@frozen(slots=False)
class Older:
    """The messages before a boundary, in full, never empty.

    `prompt_at` is the index of the running turn's prompt if it is among them: it is not summarised and not carried,
    but stands byte-equal after the summary.
    """

    messages: Sequence[ModelMessage]
    prompt_at: int | None

    def parts_of(self, message: ModelMessage) -> Sequence[Any]:
        """A message's parts that count as said before: no earlier summary's text, not the running turn's prompt."""
        parts = own_parts(message)
        return [part for part in parts if answers_a_call(part)] if message is self._prompt_message else parts

    @property
    def prompt(self) -> Sequence[ModelRequestPart]:
        """All parts of the running turn's prompt; none if it is in the tail. Results beside it stay with calls."""
        parts = () if self._prompt_message is None else own_parts(self._prompt_message)
        return [part for part in parts if not answers_a_call(part)]

    @cached_property
    def previous(self) -> Summary | None:
        """The record of an earlier compaction."""
        return record_in(self.messages[0])

    @cached_property
    def carried(self) -> Carried:
        """Everything a summary must not lose, over all compactions."""
        said = [(message, self.parts_of(message)) for message in self.messages]
        return carried_in(self.messages[0]).and_then(said)

    def summary_message(self, summary: Summary, budgets: Budgets, estimator: Estimator) -> ModelRequest:
        """Element 0 of the new history: the skeleton with the lists within the summary's budget, then the words."""
        said = words_text(self.carried.words, budgets.user_words, estimator)
        spare = max(budgets.user_words - estimator.text(said), 0)
        lists = lists_text(self.carried, budgets.summary // 2, spare, estimator)
        room = budgets.summary - min(estimator.text(lists), budgets.summary // 2)
        clipped = summary.clipped(lambda text: estimator.text(text) <= room)
        under = "\n\n".join(section for section in (said, lists) if section)
        return summary_message(clipped, self.carried, under, self.prompt)

    @property
    def _prompt_message(self) -> ModelMessage | None:
        return None if self.prompt_at is None else self.messages[self.prompt_at]
