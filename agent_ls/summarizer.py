"""Asks a real model for a summary: what can go wrong with a provider becomes one failure in words (CASCADE §11)."""

from __future__ import annotations

import asyncio
from typing import Final

from attrs import define, field
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.settings import ModelSettings

from agent_ls.compaction.full import SummarizerFailed
from agent_ls.models import ContextOverflow, Fatal, ResolvedModel, Transient, classify, retry_delays, seconds_to_wait

RETRIES: Final = 2
LONGEST_ANSWER_SECONDS: Final = 300.0
"""A summariser that hangs ends as a failure: the session has to go on."""


@define
class Summarizer:
    """A model that is asked for summaries (`compaction.full.Ask`): no tools, transient errors tried again.

    `cost` is what its answers cost so far, in USD; None where no price is known.
    """

    model: ResolvedModel
    longest_answer_seconds: float = LONGEST_ANSWER_SECONDS
    cost: float | None = field(init=False, default=None)

    async def __call__(self, messages: list[ModelMessage], max_output: int) -> ModelResponse:
        """The model's response. Raises SummarizerFailed; being cancelled ends it at once."""
        delays = retry_delays(RETRIES)
        while True:
            limit = asyncio.timeout(self.longest_answer_seconds)
            try:
                async with limit:
                    settings = ModelSettings(max_tokens=max_output)
                    response = await model_request(self.model.model, messages, model_settings=settings)
            except Exception as error:  # whatever a provider or its SDK raises is classified here
                if limit.expired():
                    seconds = self.longest_answer_seconds
                    raise SummarizerFailed(f"the model did not answer within {seconds:.0f} seconds") from error
                match classify(error):
                    case Transient(error=transient, retry_after=retry_after):
                        if (delay := next(delays, None)) is None:
                            raise SummarizerFailed(transient.message) from error
                        await asyncio.sleep(seconds_to_wait(delay, retry_after))
                    case ContextOverflow(error=too_large):
                        raise SummarizerFailed(too_large.message) from error
                    case Fatal(error=fatal):
                        raise SummarizerFailed(fatal.message) from error
            else:
                if (cost := self.model.cost(response)) is not None:
                    self.cost = (self.cost or 0.0) + float(cost)
                return response
