"""OpenAI Chat Completions: counts a request, enforces the window, renders replies plain and as server-sent events."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.simulator.openai_checks import check_body, error_body, refuse
from tests.simulator.prompt_cache import AutomaticPrefixCache, CacheUse, Segment
from tests.simulator.provider import Measured, Rendering
from tests.simulator.recorded import Protocol
from tests.simulator.refusal import Refusal
from tests.simulator.replies import Failure, Usage
from tests.simulator.tokens import compact_json, count_text

ENCODING: Final = "o200k_base"
_TOKENS_PER_MESSAGE = 4
_TOKENS_PER_IMAGE = {"low": 85, "auto": 765, "high": 765}
_FINISH = {"end": "stop", "tool": "tool_calls", "length": "length", "refusal": "content_filter"}
_FAILURE_CODES = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", "service_unavailable"),
}


class OpenAIChat:
    """The provider side of `POST /v1/chat/completions`."""

    name: Protocol = "openai"

    def __init__(self) -> None:
        self._cache = AutomaticPrefixCache()

    def authenticate(self, headers: dict[str, str], accepted: str) -> None:
        """Only keys that begin with `accepted` get in. Raises RequestRefused (401)."""
        key = headers.get("authorization", "").removeprefix("Bearer ")
        if not key.startswith(accepted):
            shown = f"{key[:4]}{'*' * max(len(key) - 4, 0)}"
            refuse(f"Incorrect API key provided: {shown}.", param=None, code="invalid_api_key", status=401)

    def check(self, body: Any) -> None:
        """Refuse what the provider refuses whatever its size."""
        check_body(body)

    def measure(self, body: Any) -> Measured:
        """The request as segments with their tokens, and the output allowance it asks for (0: none stated)."""
        segments = [_tool_segment(tool) for tool in body.get("tools") or ()]
        segments += [_message_segment(message) for message in body["messages"]]
        allowance = body.get("max_completion_tokens") or body.get("max_tokens") or 0
        return Measured(tuple(segments), allowance)

    def overflow(self, measured: Measured, window: int) -> Refusal | None:
        """The refusal of a request that does not fit with its output allowance."""
        asked = measured.input_tokens + measured.allowance
        if asked <= window:
            return None
        if measured.allowance:
            message = (
                f"This model's maximum context length is {window} tokens. However, you requested {asked} tokens "
                f"({measured.input_tokens} in the messages, {measured.allowance} in the completion). "
                "Please reduce the length of the messages or completion."
            )
        else:
            message = (
                f"This model's maximum context length is {window} tokens. However, your messages resulted in "
                f"{measured.input_tokens} tokens. Please reduce the length of the messages."
            )
        body = error_body(message, param="messages", code="context_length_exceeded")
        return Refusal(400, body, message)

    def use_cache(self, body: Any, key: str, measured: Measured) -> CacheUse:
        """Tokens read from the cache by this request."""
        return self._cache.use(f"{body['model']}\0{key}", measured.segments)

    def count_output(self, text: str) -> int:
        """Tokens of a piece of output."""
        return count_text(text, ENCODING)

    def failure(self, failure: Failure) -> Any:
        """The body of an HTTP error."""
        if failure.body is not None:
            return failure.body
        kind, code = _FAILURE_CODES.get(failure.status, ("invalid_request_error", None))
        return error_body(failure.sentence, kind=kind, code=failure.code or code)

    def response(self, rendering: Rendering) -> Any:
        """The body of a response that is not streamed."""
        reply = rendering.reply
        message: dict[str, Any] = {"role": "assistant", "content": reply.full_text or None, "refusal": None}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if rendering.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in rendering.calls
            ]
        choice = {"index": 0, "finish_reason": _FINISH[rendering.stop_reason], "message": message, "logprobs": None}
        head = {"id": rendering.id, "object": "chat.completion", "created": 1764583200, "model": rendering.model}
        usage = {"usage": _usage(rendering.usage)} if reply.report_usage else {}
        return {**head, "choices": [choice], **usage}

    def events(self, rendering: Rendering) -> list[bytes]:
        """The chunks of a streamed response, `[DONE]` last; usage only where the request asked for it."""
        reply = rendering.reply
        head = {"id": rendering.id, "object": "chat.completion.chunk", "created": 1764583200, "model": rendering.model}
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if reply.thinking:
            deltas.append({"reasoning_content": reply.thinking})
        deltas += [{"content": chunk} for chunk in reply.text_chunks]
        for position, call in enumerate(rendering.calls):
            start = {
                "index": position,
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": ""},
            }
            deltas.append({"tool_calls": [start]})
            deltas += [
                {"tool_calls": [{"index": position, "function": {"arguments": call.arguments[at : at + 40]}}]}
                for at in range(0, len(call.arguments), 40)
            ]
        chunks: list[dict[str, Any]] = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        finish = {"index": 0, "delta": {}, "finish_reason": _FINISH[rendering.stop_reason]}
        chunks.append({**head, "choices": [finish]})
        if reply.report_usage and (rendering.body.get("stream_options") or {}).get("include_usage"):
            chunks.append({**head, "choices": [], "usage": _usage(rendering.usage)})
        return [*(_event(chunk) for chunk in chunks), b"data: [DONE]\n\n"]

    def error_event(self, kind: str, message: str) -> bytes:
        """An error inside a stream that had begun well."""
        return _event(error_body(message, kind=kind, code=kind))


def _event(data: Any) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _tool_segment(tool: Any) -> Segment:
    text = compact_json(tool)
    return Segment(text, count_text(text, ENCODING))


def _message_segment(message: dict[str, Any]) -> Segment:
    tokens = _TOKENS_PER_MESSAGE
    content = message.get("content")
    if isinstance(content, str):
        tokens += count_text(content, ENCODING)
    for part in content if isinstance(content, list) else ():
        if part.get("type") == "image_url":
            tokens += _TOKENS_PER_IMAGE[part["image_url"].get("detail") or "auto"]
        else:
            tokens += count_text(part.get("text") or compact_json(part), ENCODING)
    for call in message.get("tool_calls") or ():
        function = call["function"]
        tokens += _TOKENS_PER_MESSAGE + count_text(function["name"] + function["arguments"], ENCODING)
    return Segment(compact_json(message), tokens)
