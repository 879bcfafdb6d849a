"""What a failed model request means: too long, try again, or give up, each in words a person can act on.

pydantic-ai sorts most provider errors into categories. This module adds the wordings it does not know (CASCADE §10)
and turns every category into one of three values the turn can match on.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final, Literal

from attrs import frozen
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
    UserError,
)

from agent_ls.errors import AgentError, ContextTooLarge, ProviderError
from agent_ls.models.overflow_wordings import overflow_numbers, says_overflow
from agent_ls.redaction import redacted

FailureKind = Literal["auth", "quota", "not_found", "bad_request", "refused", "unexpected"]

_TRANSIENT_STATUSES: Final = frozenset({408, 409, 425, 429})
_SHOWN_CHARACTERS: Final = 500


@frozen
class ContextOverflow:
    """The request was longer than the model takes. Token counts where the provider said them."""

    error: ContextTooLarge
    rejected: int | None
    """Tokens of the refused request, as the provider counted (with the output allowance where it counts that)."""
    limit: int | None
    """The window the provider enforces."""


@frozen
class Transient:
    """The same request may work later. `error` is what to report once retries are used up."""

    error: ProviderError
    retry_after: float | None
    """Seconds the provider asked to wait."""


@frozen
class Fatal:
    """The same request will not work: `error` says why and what to do."""

    error: AgentError
    kind: FailureKind


ProviderFailure = ContextOverflow | Transient | Fatal


def classify(error: BaseException) -> ProviderFailure:
    """Sort an exception that ended a model request. Raises `error` itself if it is no provider's failure but a bug."""
    match error:
        case AgentError():
            return Fatal(error, "unexpected")
        case ModelAPIError():
            return _classify_api_error(error)
        case TimeoutError() | asyncio.TimeoutError() | ConnectionError():
            return _transient(f"The connection to the model failed ({_name_and_text(error)}).", None)
        case _ if _is_transport_error(error):
            return _transient(f"The connection to the model broke off ({_name_and_text(error)}).", None)
        case ContentFilterError():
            return _fatal("refused", "The provider's content filter stopped the answer.", None)
        case AgentRunError() | UserError():
            return _fatal("unexpected", f"The model request failed: {_one_line(str(error))}", None)
        case _:
            raise error


def _classify_api_error(error: ModelAPIError) -> ProviderFailure:
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    said = _provider_message(error)
    model = error.model_name
    match error:
        case ModelQuotaExceededError():
            return _fatal(
                "quota",
                f"The account for {model} has no quota or credit left ({said}).",
                "Top up or raise the limit at the provider, or choose another model.",
            )
        case ModelRateLimitError():
            return _transient(f"{model} is rate-limited ({said}).", error.retry_after)
        case ModelAuthenticationError():
            return _fatal(
                "auth",
                f"The provider refused the credentials for {model} ({_status(status)}{said}).",
                "Check the API key in the environment agent-ls starts in, and that it may use this model.",
            )
        case ModelNotFoundError():
            suggestion = error.suggested_model_id if isinstance(error, ModelHTTPError) else None
            return _fatal(
                "not_found",
                f"The provider knows no model {model!r} ({_status(status)}{said}).",
                f"Did you mean {suggestion!r}?" if suggestion else "Check the setting `model` and the base URL.",
            )
        case ModelContextWindowExceededError():
            return _overflow(error)
        case _ if status == 413 or says_overflow(_searched(error)):
            return _overflow(error)
        case ModelUnavailableError() | ModelServerError():
            return _transient(f"{model} is unavailable just now ({_status(status)}{said}).", error.retry_after)
        case ModelConnectionError() | ModelRequestTimeout():
            return _transient(f"The connection to {model} failed ({_root_cause(error)}).", error.retry_after)
        case _ if status is None or status in _TRANSIENT_STATUSES or status >= 500:
            return _transient(f"The request to {model} failed ({_status(status)}{said}).", error.retry_after)
        case _:
            return _fatal(
                "bad_request", f"The provider rejected the request to {model} ({_status(status)}{said}).", None
            )


def _overflow(error: ModelAPIError) -> ContextOverflow:
    rejected, limit = overflow_numbers(_searched(error), error.body)
    sizes = ""
    if rejected and limit:
        sizes = f": {rejected:,} tokens against {limit:,}"
    elif limit:
        sizes = f": it takes {limit:,} tokens"
    too_large = ContextTooLarge(
        f"The request is longer than {error.model_name} takes{sizes}.",
        hint="Shorten the instructions, start a new session, or choose a model with a larger window.",
    )
    return ContextOverflow(too_large, rejected, limit)


def _transient(message: str, retry_after: float | None) -> Transient:
    hint = "Try again later, or choose another model."
    return Transient(ProviderError(message, retryable=True, hint=hint), retry_after)


def _fatal(kind: FailureKind, message: str, hint: str | None) -> Fatal:
    return Fatal(ProviderError(message if hint is None else f"{message} {hint}", retryable=False, hint=hint), kind)


def _status(status: int | None) -> str:
    return "" if status is None else f"HTTP {status}: "


def _searched(error: ModelAPIError) -> str:
    """Everything the provider said, to look for wordings in."""
    return f"{error} {json.dumps(error.body, default=str)}"


def _provider_message(error: ModelAPIError) -> str:
    """The provider's own sentence, one line, bounded."""
    body: Any = error.body
    found = body
    if isinstance(body, dict):
        inner = body.get("error")
        found = inner.get("message") if isinstance(inner, dict) else inner or body.get("message")
    text = found if isinstance(found, str) and found.strip() else str(error)
    return _one_line(text)


def _one_line(text: str) -> str:
    """A foreign text as part of a message of ours: without keys, which providers repeat, one line, bounded."""
    line = " ".join(redacted(text).split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}…"


def _name_and_text(error: BaseException) -> str:
    text = _one_line(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _root_cause(error: BaseException) -> str:
    """What the SDKs wrap as "Connection error.": the innermost exception."""
    while error.__cause__ is not None:
        error = error.__cause__
    return _name_and_text(error)


def _is_transport_error(error: BaseException) -> bool:
    # By name: httpx and httpx2 need not be importable, and SDKs let either through in the middle of a stream.
    return any(
        base.__name__ == "TransportError" and base.__module__.partition(".")[0] in ("httpx", "httpx2")
        for base in type(error).__mro__
    )
