"""Anthropic Messages: counts a request, enforces the window, renders replies plain and as server-sent events."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.simulator.anthropic_checks import blocks_of, check_body, error_body, refuse, sign
from tests.simulator.prompt_cache import BreakpointCache, CacheUse, Segment
from tests.simulator.provider import Measured, Rendering
from tests.simulator.recorded import Protocol
from tests.simulator.refusal import Refusal
from tests.simulator.replies import Failure, Usage
from tests.simulator.tokens import compact_json, count_text

ENCODING: Final = "cl100k_base"
_TOKENS_PER_BLOCK = 3
_TOKENS_PER_IMAGE = 1_500
_STOP = {"end": "end_turn", "tool": "tool_use", "length": "max_tokens", "refusal": "refusal"}
_FAILURE_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class AnthropicMessages:
    """The provider side of `POST /v1/messages`."""

    name: Protocol = "anthropic"

    def __init__(self) -> None:
        self._cache = BreakpointCache()

    def authenticate(self, headers: dict[str, str], accepted: str) -> None:
        """Only keys that begin with `accepted` get in. Raises RequestRefused (401)."""
        # SDKs before 2.x sent `x-api-key`, later ones a bearer token.
        key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if not key.startswith(accepted):
            refuse("invalid x-api-key", kind="authentication_error", status=401)

    def check(self, body: Any) -> None:
        """Refuse what the provider refuses whatever its size."""
        check_body(body)

    def measure(self, body: Any) -> Measured:
        """The request block by block with its tokens, and `max_tokens`."""
        segments = [_segment(tool, "") for tool in body.get("tools") or ()]
        system = body.get("system") or []
        segments += [
            _segment(block, "system")
            for block in ([{"type": "text", "text": system}] if isinstance(system, str) else system)
        ]
        for message in body["messages"]:
            segments += [_segment(block, message["role"]) for block in blocks_of(message)]
        if body.get("cache_control"):
            last = segments[-1]
            segments[-1] = Segment(last.text, last.tokens, breakpoint=True)
        return Measured(tuple(segments), body["max_tokens"])

    def overflow(self, measured: Measured, window: int) -> Refusal | None:
        """The refusal of a request that does not fit with its `max_tokens`."""
        used, allowance = measured.input_tokens, measured.allowance
        if used > window:
            message = f"prompt is too long: {used} tokens > {window} maximum"
        elif used + allowance > window:
            message = (
                f"input length and `max_tokens` exceed context limit: {used} + {allowance} > {window}, "
                "decrease input length or `max_tokens` and try again"
            )
        else:
            return None
        return Refusal(400, error_body(message), message)

    def use_cache(self, body: Any, key: str, measured: Measured) -> CacheUse:
        """Tokens read from and written to the cache by this request."""
        return self._cache.use(f"{body['model']}\0{key}", measured.segments)

    def count_output(self, text: str) -> int:
        """Tokens of a piece of output."""
        return count_text(text, ENCODING)

    def failure(self, failure: Failure) -> Any:
        """The body of an HTTP error."""
        if failure.body is not None:
            return failure.body
        return error_body(failure.sentence, failure.code or _FAILURE_TYPES.get(failure.status, "invalid_request_error"))

    def response(self, rendering: Rendering) -> Any:
        """The body of a response that is not streamed."""
        return {
            **_head(rendering),
            "content": _content(rendering),
            "stop_reason": _STOP[rendering.stop_reason],
            "usage": _usage(rendering.usage) if rendering.reply.report_usage else _usage(Usage(0, 0)),
        }

    def events(self, rendering: Rendering) -> list[bytes]:
        """The events of a streamed response, from `message_start` to `message_stop`."""
        reported = rendering.usage if rendering.reply.report_usage else Usage(0, 0)
        start_usage = {**_usage(reported), "output_tokens": min(reported.output, 1)}
        events = [
            _event(
                "message_start",
                {"message": {**_head(rendering), "content": [], "stop_reason": None, "usage": start_usage}},
            )
        ]
        arguments = {call.id: call.arguments for call in rendering.calls}
        for index, block in enumerate(_content(rendering)):
            opened, deltas = _streamed(block, rendering.reply.text_chunks, arguments)
            events.append(_event("content_block_start", {"index": index, "content_block": opened}))
            events += [_event("content_block_delta", {"index": index, "delta": delta}) for delta in deltas]
            events.append(_event("content_block_stop", {"index": index}))
        delta = {"stop_reason": _STOP[rendering.stop_reason], "stop_sequence": None}
        events.append(_event("message_delta", {"delta": delta, "usage": {"output_tokens": reported.output}}))
        events.append(_event("message_stop", {}))
        return events

    def error_event(self, kind: str, message: str) -> bytes:
        """An error inside a stream that had begun well."""
        return _event("error", error_body(message, kind))


def _event(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def _head(rendering: Rendering) -> dict[str, Any]:
    head = {"id": rendering.id, "type": "message", "role": "assistant", "model": rendering.model}
    return {**head, "stop_sequence": None}


def _content(rendering: Rendering) -> list[dict[str, Any]]:
    reply = rendering.reply
    content: list[dict[str, Any]] = []
    if reply.thinking:
        content.append({"type": "thinking", "thinking": reply.thinking, "signature": sign(reply.thinking)})
    if reply.full_text:
        content.append({"type": "text", "text": reply.full_text, "citations": None})
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _whole_input(call.arguments)}
        for call in rendering.calls
    ]
    return content


def _whole_input(arguments: str) -> Any:
    """A call's input; nothing of one that was cut off within its arguments, which only a stream can show."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def _streamed(
    block: dict[str, Any], text_chunks: list[str], arguments_by_id: dict[str, str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a block is opened in a stream, and the deltas that fill it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": chunk} for chunk in text_chunks]
        case "thinking":
            return (
                {**block, "thinking": "", "signature": ""},
                [
                    {"type": "thinking_delta", "thinking": block["thinking"]},
                    {"type": "signature_delta", "signature": block["signature"]},
                ],
            )
        case _:
            arguments = arguments_by_id[block["id"]]
            pieces = [arguments[at : at + 40] for at in range(0, len(arguments), 40)]
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input - usage.cache_read - usage.cache_write,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def _segment(block: dict[str, Any], role: str) -> Segment:
    bare = {name: value for name, value in block.items() if name != "cache_control"}
    return Segment(f"{role}:{compact_json(bare)}", _count_block(bare), breakpoint=bool(block.get("cache_control")))


def _count_block(block: dict[str, Any]) -> int:
    match block.get("type"):
        case "image" | "document":
            return _TOKENS_PER_IMAGE
        case "text":
            return _TOKENS_PER_BLOCK + count_text(block["text"], ENCODING)
        case "thinking":
            return _TOKENS_PER_BLOCK + count_text(block["thinking"], ENCODING)
        case "tool_use":
            return _TOKENS_PER_BLOCK + count_text(block["name"] + compact_json(block["input"]), ENCODING)
        case "tool_result":
            content = block.get("content") or ""
            if isinstance(content, str):
                return _TOKENS_PER_BLOCK + count_text(content, ENCODING)
            return _TOKENS_PER_BLOCK + sum(_count_block(inner) for inner in content)
        case _:
            return count_text(compact_json(block), ENCODING)
