"""What Anthropic's Messages API refuses, in its words (HTTP 400, `{type: error, error: {type, message}}`)."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any, NoReturn

from tests.simulator.refusal import Refusal, RequestRefused

_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_MAX_CACHE_BREAKPOINTS = 4

Block = dict[str, Any]


def error_body(message: str, kind: str = "invalid_request_error") -> Any:
    """Anthropic's error shape."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_simulated"}


def refuse(message: str, *, kind: str = "invalid_request_error", status: int = 400) -> NoReturn:
    """Raise the refusal Anthropic would answer with."""
    raise RequestRefused(Refusal(status, error_body(message, kind), message))


def sign(thinking: str) -> str:
    """The signature the simulator issues for a thinking block: a function of its text, so it survives a restart."""
    return base64.b64encode(hashlib.sha256(b"simulator\0" + thinking.encode("utf-8", "replace")).digest()).decode()


def blocks_of(message: Block) -> list[Block]:
    """A message's content as blocks; plain text is one text block."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def check_body(body: Any) -> None:
    """Everything but the size. Raises RequestRefused."""
    if not isinstance(body, dict):
        refuse("The request body is not valid JSON")
    for field in ("model", "max_tokens", "messages"):
        if body.get(field) is None:
            refuse(f"{field}: Field required")
    if not isinstance(body["max_tokens"], int) or body["max_tokens"] < 1:
        refuse("max_tokens: Input should be greater than or equal to 1")
    messages = body["messages"]
    if not isinstance(messages, list) or not messages:
        refuse("messages: at least one message is required")
    for number, block in enumerate(body["system"] if isinstance(body.get("system"), list) else ()):
        _check_text(f"system.{number}", block)
    _check_tools(body.get("tools"))
    for index, message in enumerate(messages):
        _check_message(index, message)
    if messages[0]["role"] != "user":
        refuse('messages: first message must use the "user" role')
    if messages[-1]["role"] != "user":
        refuse("This model does not support assistant message prefill. The conversation must end with a user message.")
    _check_pairs(messages)
    _check_thinking(body, messages)
    _check_cache_breakpoints(body, messages)


def _check_tools(tools: Any) -> None:
    names: set[str] = set()
    for index, tool in enumerate(tools or ()):
        name = tool.get("name", "")
        if not _TOOL_NAME.match(name):
            refuse(f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if name in names:
            refuse("tools: Tool names must be unique.")
        names.add(name)
        if "type" not in tool and (tool.get("input_schema") or {}).get("type") != "object":
            refuse(f"tools.{index}.custom.input_schema.type: Field required")


def _check_message(index: int, message: Any) -> None:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in ("user", "assistant"):
        refuse(
            f'messages: Unexpected role "{role}". The Messages API accepts a top-level `system` parameter, '
            f'not "{role}" as an input message role.'
        )
    blocks = blocks_of(message)
    if not blocks:
        refuse(
            f"messages.{index}: all messages must have non-empty content except for the optional final "
            "assistant message"
        )
    for number, block in enumerate(blocks):
        _check_block(f"messages.{index}.content.{number}", role, block)


def _check_block(where: str, role: str, block: Any) -> None:
    match block:
        case {"type": "text"}:
            _check_text(where, block)
        case {"type": "tool_use"}:
            if role != "assistant":
                refuse(f"{where}: `tool_use` blocks can only be in `assistant` messages")
            if not _ID.match(str(block.get("id", ""))):
                refuse(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            if not _TOOL_NAME.match(str(block.get("name", ""))):
                refuse(f"{where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
            if not isinstance(block.get("input"), dict):
                refuse(f"{where}.tool_use.input: Input should be a valid dictionary")
        case {"type": "tool_result"}:
            if role != "user":
                refuse(f"{where}: `tool_result` blocks can only be in `user` messages")
            content = block.get("content")
            if block.get("is_error") and not content:
                refuse(f"{where}.tool_result: content cannot be empty if `is_error` is true")
            for number, inner in enumerate(content if isinstance(content, list) else ()):
                if inner.get("type") == "text":
                    _check_text(f"{where}.tool_result.content.{number}", inner)
        case {"type": "thinking" | "redacted_thinking"}:
            if role != "assistant":
                refuse(f"{where}: `thinking` blocks can only be in `assistant` messages")
        case {"type": "image" | "document"}:
            pass
        case _:
            kind = block.get("type") if isinstance(block, dict) else block
            refuse(
                f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
                "'document', 'image', 'redacted_thinking', 'text', 'thinking', 'tool_result', 'tool_use'"
            )


def _check_text(where: str, block: Block) -> None:
    text = block.get("text")
    if not isinstance(text, str):
        refuse(f"{where}.text.text: Field required")
    if not text:
        refuse("messages: text content blocks must be non-empty")
    if not text.strip():
        refuse("messages: text content blocks must contain non-whitespace text")


def merged_turns(messages: list[Block]) -> list[tuple[int, str, list[Block]]]:
    """Consecutive messages of one role as one turn, as the API joins them: (first index, role, blocks)."""
    turns: list[tuple[int, str, list[Block]]] = []
    for index, message in enumerate(messages):
        if turns and turns[-1][1] == message["role"]:
            turns[-1][2].extend(blocks_of(message))
        else:
            turns.append((index, message["role"], list(blocks_of(message))))
    return turns


def _check_pairs(messages: list[Block]) -> None:
    asked: list[str] = []
    asked_at = 0
    for index, role, blocks in merged_turns(messages):
        if role == "assistant":
            asked, asked_at = [block["id"] for block in blocks if block["type"] == "tool_use"], index
            if len(set(asked)) < len(asked):
                refuse(f"messages.{index}: `tool_use` ids must be unique")
            continue
        leading = 0
        while leading < len(blocks) and blocks[leading]["type"] == "tool_result":
            leading += 1
        answered = [block.get("tool_use_id") for block in blocks[:leading]]
        for number, block in enumerate(blocks):
            if block["type"] == "tool_result" and block.get("tool_use_id") not in asked:
                refuse(
                    f"messages.{index}.content.{number}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{block.get('tool_use_id')}. Each `tool_result` block must have a corresponding `tool_use` "
                    "block in the previous message."
                )
        if len(set(answered)) < len(answered):
            repeated = next(one for one in answered if answered.count(one) > 1)
            refuse(
                f"messages.{index}.content: each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {repeated}"
            )
        if missing := [one for one in asked if one not in answered]:
            refuse(
                f"messages.{asked_at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
        asked = []


def _check_thinking(body: Block, messages: list[Block]) -> None:
    for index, message in enumerate(messages):
        for number, block in enumerate(blocks_of(message)):
            if block["type"] != "thinking":
                continue
            where = f"messages.{index}.content.{number}"
            if not block.get("signature"):
                refuse(f"{where}.thinking.signature: Field required")
            if block["signature"] != sign(block.get("thinking", "")):
                refuse(f"{where}: Invalid `signature` in `thinking` block")
    turns = merged_turns(messages)
    enabled = (body.get("thinking") or {}).get("type") == "enabled"
    if not enabled or len(turns) < 2 or not any(block["type"] == "tool_result" for block in turns[-1][2]):
        return
    index, _, blocks = turns[-2]
    if blocks[0]["type"] not in ("thinking", "redacted_thinking"):
        refuse(
            f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{blocks[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        )


def _check_cache_breakpoints(body: Block, messages: list[Block]) -> None:
    system = body["system"] if isinstance(body.get("system"), list) else []
    everything = [*(body.get("tools") or ()), *system, *(block for message in messages for block in blocks_of(message))]
    found = sum(bool(block.get("cache_control")) for block in everything) + bool(body.get("cache_control"))
    if found > _MAX_CACHE_BREAKPOINTS:
        refuse(f"A maximum of {_MAX_CACHE_BREAKPOINTS} blocks with cache_control may be provided. Found {found}.")
