"""The policy benchmark: what it counts is right, and what docs/benchmarks.md says of 48,000 tokens still holds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from benchmarks.bench_policies import rows_of
from benchmarks.policies.contenders import CONTENDERS, OURS
from benchmarks.policies.policy import FIXED_TOKENS, DropOldest, Plain
from benchmarks.policies.pricing import Bill
from benchmarks.policies.recording import recording_of
from benchmarks.policies.simulate import Prepared, simulate
from benchmarks.policies.summarizer import summary_of
from benchmarks.policies.tables import verdict
from benchmarks.policies.wire import Wire, refusal_of
from benchmarks.sessions import load_sessions
from tests.simulator.tokens import count_text

WINDOW = 48_000


def session(rounds: int, *, words: int = 200) -> list[ModelMessage]:
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("Fix the parser in src/parser.py.")])]
    for number in range(rounds):
        path = f"src/f{number}.py"
        messages.append(ModelResponse(parts=[ToolCallPart("read_file", {"path": path}, f"c{number}")]))
        messages.append(
            ModelRequest(parts=[ToolReturnPart("read_file", f"f{number} " + "value = 1 " * words, f"c{number}")])
        )
    return [*messages, ModelResponse(parts=[TextPart("Done.")])]


def prepared(messages: Sequence[ModelMessage], window: int) -> Prepared:
    return Prepared.of(recording_of("test", messages, window), window)


def test_a_prefix_sent_before_is_read_from_the_cache_and_the_rest_is_written() -> None:
    bill = Bill()
    assert bill.request([(b"a", 100), (b"b", 10)], 1) == 0
    assert bill.billed == pytest.approx(110 * 1.25 + 5)
    assert bill.request([(b"a", 100), (b"b", 10), (b"c", 20)], 1) == 110
    assert bill.cache_breaks == 0
    assert bill.billed == pytest.approx(110 * 1.25 + 5 + 110 * 0.1 + 20 * 1.25 + 5)
    assert bill.request([(b"a", 100), (b"x", 5), (b"c", 20)], 0) == 100
    assert bill.cache_breaks == 1


def test_a_summary_call_is_billed_without_a_cache() -> None:
    bill = Bill()
    bill.summary(1_000, 100)
    assert bill.billed == bill.billed_for_summaries == 1_500
    assert bill.summary_calls == 1


def test_without_compaction_all_is_there_until_it_no_longer_fits() -> None:
    fits = asyncio.run(simulate(prepared(session(5), WINDOW), Plain))
    assert fits.refused == 0
    assert fits.outputs_present == fits.outputs_due > 0
    assert all(fits.present[kind] == fits.due[kind] for kind in fits.due)
    overfull = asyncio.run(simulate(prepared(session(40), 8_000), Plain))
    assert overfull.refused > 0
    assert overfull.largest > 8_000


def test_dropping_the_oldest_loses_the_rule_and_leaves_no_pair_broken() -> None:
    outcome = asyncio.run(simulate(prepared(session(60), 16_000), DropOldest))
    assert outcome.refused == 0
    assert outcome.largest <= 16_000
    assert 0 < outcome.present["rule"] < outcome.due["rule"]


def test_a_request_that_a_strict_provider_refuses_is_counted() -> None:
    wire = Wire()
    call = ModelResponse(parts=[ToolCallPart("t", {}, "c")])
    result = ModelRequest(parts=[ToolReturnPart("t", "r", "c")])
    prompt = ModelRequest(parts=[UserPromptPart("go")])

    def refusal(*messages: ModelMessage) -> str | None:
        return refusal_of([chat for message in messages for chat in wire.mapped(message).chat])

    assert refusal(prompt, call, result) is None
    assert refusal(prompt, result) is not None
    assert refusal(prompt, call, prompt) is not None


def test_the_fixed_part_is_in_every_request() -> None:
    outcome = asyncio.run(simulate(prepared(session(1), WINDOW), Plain))
    assert outcome.bill.input_tokens > 2 * FIXED_TOKENS


@pytest.mark.parametrize("lines", [10, 400, 4_000])
def test_a_summary_is_as_long_as_real_ones_are(lines: int) -> None:
    question = "\n".join(
        f"We must keep src/file_{number}.py as it is, because {number} says so." for number in range(lines)
    )
    asked = count_text(question, "o200k_base")
    written = count_text(summary_of(question, asked), "o200k_base")
    assert written <= 1_600
    assert lines < 400 or written >= min(0.04 * asked, 1_200)


def test_ours_is_the_cheapest_that_keeps_every_rule_and_as_many_outputs_at_the_headline_window() -> None:
    tiered = [each for each in CONTENDERS if each.name.startswith("Tiered, user messages kept")]
    rows = rows_of(load_sessions(), WINDOW, [OURS, *tiered])
    ours = rows[0]
    assert ours.unserved == 0
    assert ours.present("rule") == ours.within_reach("rule") == 1
    assert ours.within_reach("path") == ours.within_reach("error") == ours.within_reach("decision") == 1
    assert max(outcome.largest for outcome in ours.outcomes) <= WINDOW
    assert ours.billed < min(row.billed for row in rows[1:]), verdict(rows)
    assert not verdict(rows).startswith("Cheaper"), verdict(rows)
