"""What OpenAI's Chat Completions refuses, in its words (HTTP 400, `error: {message, type, param, code}`).

Stricter than OpenAI itself where other servers of the same protocol are: an empty message is refused as Moonshot does.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from tests.simulator.refusal import Refusal, RequestRefused

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_MAX_CALL_ID = 40


def error_body(message: str, *, kind: str = "invalid_request_error", param: str | None = None, code: str | None) -> Any:
    """OpenAI's error shape."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def refuse(message: str, *, param: str | None = "messages", code: str | None = None, status: int = 400) -> NoReturn:
    """Raise the refusal OpenAI would answer with."""
    raise RequestRefused(Refusal(status, error_body(message, param=param, code=code), message))


def check_body(body: Any) -> None:
    """Everything but the size. Raises RequestRefused."""
    if not isinstance(body, dict):
        refuse("We could not parse the JSON body of your request.", param=None)
    if not isinstance(body.get("model"), str) or not body["model"]:
        refuse("you must provide a model parameter", param=None)
    messages = body.get("messages")
    if not isinstance(messages, list):
        refuse("Missing required parameter: 'messages'.", code="missing_required_parameter")
    if not messages:
        refuse(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            code="empty_array",
        )
    _check_tools(body.get("tools"))
    for index, message in enumerate(messages):
        _check_message(index, message)
    _check_pairs(messages)
    if all(message["role"] in ("system", "developer") for message in messages):
        refuse("Invalid request: at least one message must have the role 'user'")


def _check_tools(tools: Any) -> None:
    if tools is None:
        return
    if not isinstance(tools, list) or not tools:
        refuse(
            "Invalid 'tools': empty array. Expected an array with minimum length 1.", param="tools", code="empty_array"
        )
    names = [tool.get("function", {}).get("name") for tool in tools]
    for index, name in enumerate(names):
        if not isinstance(name, str) or not _NAME.match(name):
            refuse(
                f"Invalid 'tools[{index}].function.name': string does not match pattern. "
                "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
                param=f"tools[{index}].function.name",
                code="invalid_value",
            )
    if repeated := _first_repeated(names):
        refuse(f"Tool names must be unique: {repeated!r} is given twice.", param="tools", code="invalid_value")


def _check_message(index: int, message: Any) -> None:
    if not isinstance(message, dict):
        refuse(
            f"Invalid type for 'messages[{index}]': expected an object.",
            param=f"messages[{index}]",
            code="invalid_type",
        )
    role = message.get("role")
    if role not in ROLES:
        *most, last = (f"'{name}'" for name in ROLES)
        refuse(
            f"Invalid value: '{role}'. Supported values are: {', '.join(most)}, and {last}.",
            param=f"messages[{index}].role",
            code="invalid_value",
        )
    content, calls = message.get("content"), message.get("tool_calls")
    if calls is not None:
        if role != "assistant":
            refuse(f"Unrecognized request argument supplied: tool_calls for role '{role}'", param=f"messages[{index}]")
        _check_calls(index, calls)
    if role == "tool":
        if not isinstance(message.get("tool_call_id"), str):
            refuse(f"Missing parameter 'tool_call_id': messages[{index}]", param=f"messages[{index}].tool_call_id")
        if content is None:
            refuse("Invalid value for 'content': expected a string, got null.", param=f"messages[{index}].content")
        return
    if content is None and calls:
        return
    if content is None:
        refuse("Invalid value for 'content': expected a string, got null.", param=f"messages[{index}].content")
    if _is_blank(content) and not calls:
        refuse(f"Invalid request: the message at position {index} with role '{role}' must not be empty")


def _is_blank(content: Any) -> bool:
    if isinstance(content, str):
        return not content.strip()
    if not isinstance(content, list) or not content:
        return True
    return any(part.get("type") == "text" and not str(part.get("text", "")).strip() for part in content)


def _check_calls(index: int, calls: Any) -> None:
    if not isinstance(calls, list) or not calls:
        refuse(
            f"Invalid 'messages[{index}].tool_calls': empty array. Expected an array with minimum length 1.",
            param=f"messages[{index}].tool_calls",
            code="empty_array",
        )
    for position, call in enumerate(calls):
        where = f"messages[{index}].tool_calls[{position}]"
        function = call.get("function") or {}
        if not isinstance(call.get("id"), str) or not call["id"]:
            refuse(f"Missing required parameter: '{where}.id'.", param=f"{where}.id", code="missing_required_parameter")
        if len(call["id"]) > _MAX_CALL_ID:
            refuse(
                f"Invalid '{where}.id': string too long. Expected a string with maximum length {_MAX_CALL_ID}, "
                f"but got a string with length {len(call['id'])} instead.",
                param=f"{where}.id",
                code="string_above_max_length",
            )
        if not isinstance(function.get("arguments"), str):
            refuse(
                f"Invalid type for '{where}.function.arguments': expected a string.", param=where, code="invalid_type"
            )
        if not isinstance(function.get("name"), str) or not _NAME.match(function["name"]):
            refuse(
                f"Invalid '{where}.function.name': string does not match pattern. "
                "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
                param=f"{where}.function.name",
                code="invalid_value",
            )
    if repeated := _first_repeated([call["id"] for call in calls]):
        refuse(f"Duplicate value for 'tool_call_id' of '{repeated}' in message[{index}].", param=f"messages[{index}]")


def _check_pairs(messages: list[dict[str, Any]]) -> None:
    open_calls: set[str] = set()
    answered: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            if call_id in answered:
                refuse(
                    f"Duplicate value for 'tool_call_id' of '{call_id}' in message[{index}].",
                    param=f"messages[{index}]",
                )
            if call_id not in open_calls:
                refuse(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                    "with 'tool_calls'.",
                    param=f"messages.[{index}].role",
                )
            open_calls.discard(call_id)
            answered.add(call_id)
            continue
        _refuse_unanswered(open_calls, messages)
        answered = set()
        open_calls = {call["id"] for call in message.get("tool_calls") or ()}
    _refuse_unanswered(open_calls, messages)


def _refuse_unanswered(open_calls: set[str], messages: list[dict[str, Any]]) -> None:
    if open_calls:
        in_order = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        missing = list(dict.fromkeys(call_id for call_id in in_order if call_id in open_calls))
        refuse(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(missing)}"
        )


def _first_repeated(values: list[Any]) -> Any:
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
