"""`workspace/executeCommand`: each `agent/` request under its command's name, for clients without any plugin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from agent_ls.protocol import COMPACT, PROMPT, command_of
from agent_ls.wire.converter import BadParams

_BARE_STRING: Final[Mapping[str, str]] = {PROMPT: "prompt", COMPACT: "focus"}
"""Requests whose one argument may be a string: the field it stands for."""


def request_of(params: Any, methods: Iterable[str]) -> tuple[str, Any]:
    """The method and the params that an executeCommand stands for. Raises BadParams."""
    given = params if isinstance(params, Mapping) else {}
    command, arguments = given.get("command"), given.get("arguments") or []
    method = next((method for method in methods if command_of(method) == command), None)
    if method is None:
        raise BadParams([f"$.command: unknown command {command!r}"])
    if not isinstance(arguments, list) or len(arguments) > 1:
        raise BadParams(["$.arguments: expected an array of at most one argument"])
    argument = arguments[0] if arguments else None
    if isinstance(argument, str) and method in _BARE_STRING:
        argument = {_BARE_STRING[method]: argument}
    token = given.get("workDoneToken")
    if token is not None and isinstance(argument, Mapping | None):
        argument = {"workDoneToken": token, **(argument or {})}
    return method, argument
