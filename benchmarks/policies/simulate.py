"""Sends a recorded session again, request by request, with what a policy leaves of its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from attrs import define, field, frozen
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.usage import RequestUsage

from benchmarks.policies.facts import KINDS, Kind, Oracle
from benchmarks.policies.policy import NotSent, Policy, Setting
from benchmarks.policies.pricing import Bill
from benchmarks.policies.recording import Recording
from benchmarks.policies.summarizer import FakeSummarizer
from benchmarks.policies.wire import Wire, refusal_of

_REASON: Final = 60


@frozen
class Prepared:
    """A recording in a window of so many tokens, with what is known of its messages under every policy."""

    recording: Recording
    window: int
    wire: Wire
    oracle: Oracle

    @classmethod
    def of(cls, recording: Recording, window: int) -> Prepared:
        """Look the recording through once."""
        wire = Wire()
        return cls(recording, window, wire, Oracle(recording.messages, wire))


@define
class Outcome:
    """What one session cost under a policy, and what its requests held.

    `present` counts facts that were due and in the request, `recallable` those found by recall instead. A request
    `refused` was too large or broken; one `not_sent` the policy had replaced by the end of the turn.
    """

    window: int
    bill: Bill = field(factory=Bill)
    requests: int = 0
    refused: int = 0
    not_sent: int = 0
    reasons: Counter[str] = field(factory=Counter)
    largest: int = 0
    due: Counter[Kind] = field(factory=Counter)
    present: Counter[Kind] = field(factory=Counter)
    recallable: Counter[Kind] = field(factory=Counter)
    outputs_due: int = 0
    outputs_present: int = 0


async def simulate(prepared: Prepared, make: Callable[[Setting], Policy], *, null_summarizer: bool = False) -> Outcome:
    """One session under one policy."""
    outcome = Outcome(prepared.window)
    summarizer = FakeSummarizer(prepared.window, outcome.bill.summary, null=null_summarizer)
    policy = make(Setting(prepared.window, summarizer, prepared.wire.tokens))
    recalled: dict[str, bool] = {}
    try:
        for index, message in enumerate(prepared.recording.messages):
            if isinstance(message, ModelRequest):
                policy.add(message, begins_turn=index in prepared.recording.turns)
                continue
            usage = await _request(prepared, policy, index, message, outcome, recalled)
            policy.answered(replace(message, usage=usage))
            if prepared.recording.ends_turn(index):
                await policy.end_turn()
    finally:
        policy.close()
    return outcome


async def _request(
    prepared: Prepared,
    policy: Policy,
    index: int,
    response: ModelResponse,
    outcome: Outcome,
    recalled: dict[str, bool],
) -> RequestUsage:
    """The request that `response` answers, counted; the usage its provider would report (none if it refused)."""
    outcome.requests += 1
    try:
        messages = await policy.before_request()
    except NotSent as reason:
        outcome.not_sent += 1
        outcome.reasons[str(reason)[:_REASON]] += 1
        return RequestUsage()
    name, fixed = policy.fixed
    mapped = [prepared.wire.mapped(message) for message in messages]
    chat = [each for message in mapped for each in message.chat]
    size = fixed + sum(each.tokens for each in chat)
    outcome.largest = max(outcome.largest, size)
    refusal = "larger than the window" if size > prepared.window else refusal_of(chat)
    if refusal is not None:
        outcome.refused += 1
        outcome.reasons[refusal[:_REASON]] += 1
        return RequestUsage()
    written = prepared.wire.tokens(response)
    segments = [(name.encode(), fixed), *((each.digest, each.tokens) for each in chat)]
    cached = outcome.bill.request(segments, written)
    await _look_for_facts(prepared, policy, index, messages, outcome, recalled)
    sent = Counter(result for message in mapped for result in message.results)
    outputs = prepared.oracle.last_outputs(index)
    outcome.outputs_due += len(outputs)
    outcome.outputs_present += sum(output in sent for output in outputs)
    return RequestUsage(input_tokens=size, cache_read_tokens=cached, output_tokens=written)


async def _look_for_facts(
    prepared: Prepared,
    policy: Policy,
    index: int,
    messages: Sequence[ModelMessage],
    outcome: Outcome,
    recalled: dict[str, bool],
) -> None:
    present: frozenset[str] = frozenset().union(*(prepared.oracle.present(message) for message in messages))
    due = prepared.oracle.due(index)
    for kind in KINDS:
        for text in due[kind]:
            outcome.due[kind] += 1
            if text in present:
                outcome.present[kind] += 1
                continue
            if text not in recalled:
                recalled[text] = await policy.recalls(text)
            outcome.recallable[kind] += recalled[text]
