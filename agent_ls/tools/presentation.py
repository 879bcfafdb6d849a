"""How a tool call is shown to a person: a title in words, a kind and the files it touches (ACP)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agent_ls.protocol import ToolCallLocation, ToolKind

SHOWN_AS_DIFF: Final = frozenset({"write_file", "edit_file"})
"""Tools whose result a person sees as the diff that was announced, not as text."""

_TITLE_LIMIT: Final = 300
_COMMAND_LIMIT: Final = 2_000
"""Characters of a title. What is cut is counted in it, so nothing hides unannounced."""

_KINDS: Final[Mapping[str, ToolKind]] = {
    "read_file": "read",
    "list_directory": "read",
    "write_file": "edit",
    "edit_file": "edit",
    "search_files": "search",
    "find_files": "search",
    "run_command": "execute",
    "update_plan": "think",
    "recall": "search",
}


def describe_call(tool_name: str, arguments: Any) -> tuple[str, ToolKind, list[ToolCallLocation]]:
    """Title, kind and locations of a call.

    Never raises: `arguments` is whatever the model wrote. Locations hold the path as the model spelled it.
    """
    values: Mapping[str, Any] = arguments if isinstance(arguments, Mapping) else {}
    path = values.get("path")
    locations = [_location(path, values)] if isinstance(path, str) and path else []
    return _title(tool_name, values), _KINDS.get(tool_name, "other"), locations


def changes_something(tool_name: str) -> bool:
    """Whether a call may change files or run something, so that it is on disk before it starts (DESIGN §4)."""
    return _KINDS.get(tool_name, "other") not in ("read", "search", "think")


def visible(text: str, limit: int = _TITLE_LIMIT) -> str:
    """`text` on one line with every control, format and lone-surrogate character spelled out.

    A name or command must not be able to move the cursor, hide a part of itself or forge a second line in the
    question a person answers.
    """
    shown = text if text.isprintable() else "".join(map(_spelled, text))
    if len(shown) <= limit:
        return shown
    return f"{shown[:limit]}… ({len(shown) - limit} more characters)"


def _spelled(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def _title(tool_name: str, values: Mapping[str, Any]) -> str:
    def value(name: str, otherwise: str = "?", limit: int = _TITLE_LIMIT) -> str:
        given = values.get(name)
        return visible(given, limit) if isinstance(given, str) and given else otherwise

    match tool_name:
        case "read_file":
            return f"Read {value('path')}"
        case "list_directory":
            return f"List {value('path', '.')}"
        case "write_file":
            return f"Write {value('path')}"
        case "edit_file":
            return f"Edit {value('path')}"
        case "search_files":
            return f"Search for {value('pattern')} in {value('path', '.')}"
        case "find_files":
            return f"Find {value('pattern')} in {value('path', '.')}"
        case "run_command":
            return f"Run {value('command', limit=_COMMAND_LIMIT)}"
        case "update_plan":
            return "Update the plan"
        case "recall":
            return f"Recall {value('query', value('id', 'what was said'))}"
        case _:
            return visible(tool_name)


def _location(path: str, values: Mapping[str, Any]) -> ToolCallLocation:
    offset = values.get("offset")
    line = offset + 1 if isinstance(offset, int) and not isinstance(offset, bool) and offset >= 0 else None
    return ToolCallLocation(path=visible(path), line=line)
