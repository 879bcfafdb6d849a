"""How providers say "too long", beyond what pydantic-ai recognises, and the numbers in what they say (CASCADE §10)."""

from __future__ import annotations

import re
from typing import Any, Final

_WORDINGS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"exceed_context_size_error",  # llama.cpp
        r"exceeds? the available context size",  # llama.cpp
        r"prompt too long; exceeded max context length",  # Ollama
        r"context the overflows",  # LM Studio (its grammar)
        r"context length of only \d+",  # LM Studio
        r"prompt is too long",  # Anthropic
        r"exceed context limit",  # Anthropic, input plus max_tokens
        r"request_too_large",  # Anthropic, 413
        r"maximum (?:context|prompt) length",  # OpenAI and its likes, xAI
        r"context_length_exceeded",
        r"model_max_prompt_tokens_exceeded",  # GitHub Copilot
        r"tokens_limit_reached",  # GitHub Models
        r"input token count.*exceeds",  # Google
        r"input is too long for requested model",  # Bedrock
        r"too large for model with \d+ maximum context length",  # Mistral
        r"must have less than \d+ tokens",  # Together, Fireworks
        r"`inputs` tokens \+ `max_new_tokens` must be",  # Text Generation Inference
        r"exceeded model token limit",  # Moonshot
        r"context window exceeds limit",  # MiniMax
        r"model_context_window_exceeded",  # Z.AI
    )
)

_COUNT: Final = r"(\d[\d,]*)"
_ASKED: Final = r"(?:resulted in|requested(?: about)?|contains)"
# (pattern, order of its groups): "r" the refused request's tokens, "l" the limit, "+" added to the request's.
_NUMBERS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), roles)
    for pattern, roles in (
        (rf"{_COUNT} tokens > {_COUNT}", "rl"),
        (rf"exceed context limit: {_COUNT} \+ {_COUNT} > {_COUNT}", "r+l"),
        (rf"maximum (?:context|prompt) length is {_COUNT}.{{0,60}}?{_ASKED} {_COUNT}", "lr"),
        (rf"input token count \({_COUNT}\).*?allowed \({_COUNT}\)", "rl"),
        (rf"request \({_COUNT} tokens\) exceeds.*?\({_COUNT} tokens\)", "rl"),
        (rf"prompt token count of {_COUNT} exceeds the limit of {_COUNT}", "rl"),
        (rf"prompt contains {_COUNT} tokens.*?with {_COUNT} maximum", "rl"),
        (rf"exceeded model token limit: {_COUNT} \(requested: {_COUNT}\)", "lr"),
        (rf"keep the first {_COUNT} tokens.*?length of only {_COUNT}", "rl"),
        (rf"must be <= {_COUNT}\. Given: {_COUNT} `inputs` tokens and {_COUNT}", "lr+"),
        (rf"maximum (?:context|prompt) length (?:is|of) {_COUNT}", "l"),
        (rf"number of tokens allowed \(?{_COUNT}", "l"),
    )
)


def says_overflow(text: str) -> bool:
    """Whether a provider's error text means that the request was too long."""
    return any(wording.search(text) for wording in _WORDINGS)


def overflow_numbers(text: str, body: Any) -> tuple[int | None, int | None]:
    """(tokens of the refused request, the provider's limit), each None where it was not said."""
    from_fields = _fields(body)
    if from_fields != (None, None):
        return from_fields
    for pattern, roles in _NUMBERS:
        if found := pattern.search(text):
            counts = [int(group.replace(",", "")) for group in found.groups()]
            limit = next((count for count, role in zip(counts, roles, strict=True) if role == "l"), None)
            rejected = sum(count for count, role in zip(counts, roles, strict=True) if role in "r+") or None
            return rejected, limit
    return None, None


def _fields(body: Any) -> tuple[int | None, int | None]:
    """llama.cpp says both counts in fields of their own."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(inner, dict):
        return None, None
    rejected, limit = inner.get("n_prompt_tokens"), inner.get("n_ctx")
    return (rejected if isinstance(rejected, int) else None, limit if isinstance(limit, int) else None)
