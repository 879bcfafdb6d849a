"""What a failed request means, from the bodies providers really send, through the real provider classes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.exceptions import UnexpectedModelBehavior, UserError

from agent_ls.errors import ContextTooLarge, ProviderError, SessionBusy
from agent_ls.models import (
    ContextOverflow,
    Fatal,
    ProviderFailure,
    ResolvedModel,
    Transient,
    classify,
    resolve_model,
    retry_delays,
    seconds_to_wait,
)
from tests.conftest import SimulatedModel
from tests.simulator import Failure, Interruption, Reply, Simulator, drop

OPENAI = "openai-chat:gpt-5"
ANTHROPIC = "anthropic:claude-sonnet-5-5"


def openai_error(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


async def failure_of(resolved: ResolvedModel, prompt: str = "hi") -> ProviderFailure:
    try:
        await Agent(resolved.model).run(prompt)
    except Exception as error:  # noqa: BLE001  # whatever the SDK raises is what is classified
        return classify(error)
    raise AssertionError("the request did not fail")


# (body, HTTP status, tokens of the request, limit): as recorded in public reports of each server.
OVERFLOWS = {
    "OpenAI": (
        openai_error(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
            "context_length_exceeded",
        ),
        400,
        130_000,
        128_000,
    ),
    "OpenAI Responses": (
        openai_error(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "context_length_exceeded",
        ),
        400,
        None,
        None,
    ),
    "vLLM": (
        {
            "object": "error",
            "message": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
            "(7000 in the messages, 2000 in the completion). Please reduce the length of the messages or completion.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        400,
        9_000,
        8_192,
    ),
    "OpenRouter": (
        openai_error(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens."
        ),
        400,
        140_000,
        131_072,
    ),
    "llama.cpp": (
        {
            "error": {
                "code": 400,
                "message": "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9_031,
                "n_ctx": 8_192,
            }
        },
        400,
        9_031,
        8_192,
    ),
    "Ollama": (openai_error("prompt too long; exceeded max context length by 10 tokens"), 400, None, None),
    "LM Studio": (
        {
            "error": "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded "
            "with context length of only 4096 tokens"
        },
        400,
        9_000,
        4_096,
    ),
    "xAI": (
        openai_error("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        400,
        537_812,
        131_072,
    ),
    "Mistral": (
        openai_error(
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"
        ),
        400,
        40_000,
        32_768,
    ),
    "Text Generation Inference": (
        openai_error(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens "
            "and 1024 `max_new_tokens`"
        ),
        422,
        5_024,
        4_096,
    ),
    "Moonshot": (
        openai_error("Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)"),
        400,
        9_000,
        8_192,
    ),
    "GitHub Copilot": (
        openai_error("prompt token count of 128001 exceeds the limit of 128000", "model_max_prompt_tokens_exceeded"),
        400,
        128_001,
        128_000,
    ),
    "too many bytes": (openai_error("Request Entity Too Large"), 413, None, None),
}


@pytest.mark.parametrize(("body", "status", "rejected", "limit"), OVERFLOWS.values(), ids=OVERFLOWS)
async def test_overflow_wordings_over_openai(
    simulated_model: SimulatedModel, body: Any, status: int, rejected: int | None, limit: int | None
) -> None:
    with Simulator(replies=[Failure(status, body=body)]) as simulator:
        failure = await failure_of(simulated_model(simulator, OPENAI))
    assert isinstance(failure, ContextOverflow)
    assert (failure.rejected, failure.limit) == (rejected, limit)
    assert isinstance(failure.error, ContextTooLarge)


@pytest.mark.parametrize(
    ("message", "kind", "status", "rejected", "limit"),
    [
        ("prompt is too long: 212345 tokens > 200000 maximum", "invalid_request_error", 400, 212_345, 200_000),
        (
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
            "invalid_request_error",
            400,
            209_573,
            200_000,
        ),
        ("Request exceeds the maximum size", "request_too_large", 413, None, None),
    ],
)
async def test_overflow_wordings_over_anthropic(
    simulated_model: SimulatedModel, message: str, kind: str, status: int, rejected: int | None, limit: int | None
) -> None:
    body = {"type": "error", "error": {"type": kind, "message": message}}
    with Simulator(replies=[Failure(status, body=body)]) as simulator:
        failure = await failure_of(simulated_model(simulator, ANTHROPIC))
    assert isinstance(failure, ContextOverflow)
    assert (failure.rejected, failure.limit) == (rejected, limit)


@pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])
async def test_the_simulators_own_refusal_tells_both_numbers(simulated_model: SimulatedModel, name: str) -> None:
    with Simulator(window=300) as simulator:
        failure = await failure_of(simulated_model(simulator, name, window=300), "word " * 1_000)
        assert isinstance(failure, ContextOverflow)
        assert failure.limit == 300
        assert failure.rejected == simulator.requests[0].input_tokens


@pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])
async def test_fault_26_an_authentication_error_is_named_as_one(simulated_model: SimulatedModel, name: str) -> None:
    with Simulator(accepted_keys="another key") as simulator:
        failure = await failure_of(simulated_model(simulator, name))
    assert isinstance(failure, Fatal)
    assert failure.kind == "auth"
    assert "API key" in failure.error.message
    assert "401" in failure.error.message
    assert not failure.error.retryable


FATAL = [
    (
        OPENAI,
        Failure(429, "You exceeded your current quota.", code="insufficient_quota"),
        "quota",
        "exceeded your current",
    ),
    (ANTHROPIC, Failure(400, "Your credit balance is too low to access the API."), "quota", "credit balance"),
    (OPENAI, Failure(404, "The model `gpt-5` does not exist."), "not_found", "does not exist"),
    (ANTHROPIC, Failure(404, "model: claude-sonnet-5-5"), "not_found", "claude-sonnet-5-5"),
    (OPENAI, Failure(400, "Unsupported value: 'temperature'."), "bad_request", "temperature"),
    (ANTHROPIC, Failure(403, "Your organization may not use this."), "auth", "organization"),
    (OPENAI, Reply(stop_reason="refusal"), "refused", "content filter"),
    (ANTHROPIC, Reply(stop_reason="refusal"), "refused", "content filter"),
]


@pytest.mark.parametrize(("name", "outcome", "kind", "words"), FATAL)
async def test_what_no_retry_mends(
    simulated_model: SimulatedModel, name: str, outcome: Failure | Reply, kind: str, words: str
) -> None:
    with Simulator(replies=[outcome]) as simulator:
        failure = await failure_of(simulated_model(simulator, name))
    assert isinstance(failure, Fatal)
    assert failure.kind == kind
    assert words in failure.error.message


@pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize(
    ("outcome", "retry_after"),
    [
        (Failure(429, headers={"retry-after": "7"}), 7.0),
        (Failure(500), None),
        (Failure(502, body=b"<html>bad gateway</html>"), None),
        (Failure(503, headers={"retry-after": "30"}), 30.0),
        (Failure(529), None),
        (Failure(408), None),
        (drop(), None),
        (drop(1), None),
        (Reply("half", interruption=Interruption("error", 2)), None),
    ],
)
async def test_what_a_retry_may_mend(
    simulated_model: SimulatedModel, name: str, outcome: Failure | Reply, retry_after: float | None
) -> None:
    with Simulator(replies=[outcome]) as simulator:
        failure = await failure_of(simulated_model(simulator, name))
        assert len(simulator.requests) == 1, "no hidden retry"
    assert isinstance(failure, Transient)
    assert failure.retry_after == retry_after
    assert failure.error.retryable


@pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])
async def test_a_provider_nobody_listens_at_is_named(name: str) -> None:
    with Simulator() as simulator:
        environ = simulator.environment
    resolved = resolve_model(name, environ=environ)
    failure = await failure_of(resolved)
    await resolved.aclose()
    assert isinstance(failure, Transient)
    assert "Connect" in failure.error.message, "the cause, not only `Connection error.`"


def test_our_own_errors_pass_through() -> None:
    busy = SessionBusy("a turn is running")
    failure = classify(busy)
    assert isinstance(failure, Fatal)
    assert failure.error is busy


@pytest.mark.parametrize("error", [UserError("no such modality"), UnexpectedModelBehavior("exceeded retries")])
def test_pydantic_ais_own_complaints_are_reported(error: Exception) -> None:
    failure = classify(error)
    assert isinstance(failure, Fatal)
    assert isinstance(failure.error, ProviderError)
    assert str(error) in failure.error.message


@pytest.mark.parametrize("error", [TimeoutError("slow"), ConnectionResetError("gone"), BrokenPipeError()])
def test_bare_transport_errors_are_transient(error: Exception) -> None:
    assert isinstance(classify(error), Transient)


@pytest.mark.parametrize("error", [KeyError("x"), ZeroDivisionError(), KeyboardInterrupt()])
def test_a_bug_is_raised_not_excused(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised:
        classify(error)
    assert raised.value is error


def test_a_long_body_is_told_in_one_bounded_line() -> None:
    failure = classify(UnexpectedModelBehavior("no\n" * 10_000))
    assert isinstance(failure, Fatal)
    assert "\n" not in failure.error.message
    assert len(failure.error.message) < 1_000


@given(st.integers(0, 12))
def test_retry_delays_are_bounded_and_do_not_shrink_much(retries: int) -> None:
    delays = list(retry_delays(retries))
    assert len(delays) == retries
    assert all(1.0 <= delay <= 60.0 for delay in delays)
    assert all(later > earlier * 0.8 for earlier, later in itertools.pairwise(delays))


@given(st.floats(0, 100), st.none() | st.floats(0, 10_000))
def test_the_providers_wish_is_respected_within_a_minute(delay: float, retry_after: float | None) -> None:
    waited = seconds_to_wait(delay, retry_after)
    assert waited <= 60.0
    assert waited >= min(delay, 60.0)
    assert waited >= min(retry_after or 0.0, 60.0)
