"""What a summary must not lose is not left to a model (CASCADE §12): the user's words, files, commands.

Collected by code from full-fidelity messages, cumulative over any number of compactions, kept in the summary message's
metadata and written into its text anew each time (`carried_text`). Nothing here is ever summarised.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import field, frozen
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

MOST_COMMANDS: Final = 20
_MOST_FILES: Final = 300
_MOST_STORED_CHARACTERS: Final = 200_000
_LONGEST_ADDRESS: Final = 200

_PATH_ARGUMENTS: Final = ("path", "file_path", "filepath", "filename", "file", "notebook_path", "target_file")
_PATHS_ARGUMENTS: Final = ("paths", "files", "file_paths")
_COMMAND_ARGUMENTS: Final = ("command", "cmd", "script")
_CHANGES: Final = re.compile(r"write|edit|create|replace|patch|insert|apply|delete|move|rename", re.IGNORECASE)
_EDITOR_READS: Final = frozenset({"view", "open", "read"})
"""What a tool that takes a path and a `command` (str_replace_editor) is told when it is only to look."""
_PATH_IN_PATCH: Final = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(\S+)", re.MULTILINE)
_PATH_IN_TEXT: Final = re.compile(r"(?<![\w/.-])(?:\.{0,2}/)?(?:[\w.@-]+/)+[\w.@-]+\.[A-Za-z]\w{0,7}\b")
_MOST_PATHS_IN_COMMAND: Final = 8
_EXIT_CODE: Final = re.compile(r"exit(?:ed)?(?: with)?(?: code| status)?[: ]+(-?\d+)", re.IGNORECASE)
_OUTPUT_ENDS: Final = 400
_LONGEST_COMMAND: Final = 200

Said = tuple[ModelMessage, Sequence[Any]]
"""A message, and the parts of it that count."""


@frozen
class UserWords:
    """One message of the user's, verbatim; `at` is its ISO 8601 date and time."""

    text: str
    at: str


@frozen
class Command:
    """A shell command that was run, on one line; `exit_code` None where it was not told."""

    command: str
    exit_code: int | None


@frozen
class Carried:
    """Everything carried, oldest first; files by last use."""

    words: tuple[UserWords, ...] = ()
    read: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    commands: tuple[Command, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """As the metadata of a message."""
        return {
            "words": [[each.text, each.at] for each in self.words],
            "read": list(self.read),
            "changed": list(self.changed),
            "commands": [[each.command, each.exit_code] for each in self.commands],
        }

    def and_then(self, messages: Sequence[Said]) -> Carried:
        """This and what further messages say."""
        words = [*self.words]
        for message, parts in messages:
            if isinstance(message, ModelRequest):
                words += _user_words(parts)
        read, changed = dict.fromkeys(self.read), dict.fromkeys(self.changed)
        commands = [*self.commands]
        for call, result in _calls(messages):
            arguments = _arguments(call)
            into = changed if _changed_something(call, arguments, result) else read
            for path in _paths(call, arguments):
                _newest(into, path)
            if (command := _command(arguments)) is not None:
                commands.append(Command(_one_line(command), _exit_code(result)))
                for path in _PATH_IN_TEXT.findall(command)[:_MOST_PATHS_IN_COMMAND]:
                    _newest(read, path)
        return Carried(
            words=tuple(words),
            read=tuple(read)[-_MOST_FILES:],
            changed=tuple(changed)[-_MOST_FILES:],
            commands=tuple(commands)[-MOST_COMMANDS:],
        )


def carried_from_json(stored: object) -> Carried:
    """What `to_json` made; nothing of what does not have that shape."""
    if not isinstance(stored, Mapping):
        return Carried()
    words = [UserWords(text, at) for text, at in _pairs(stored.get("words")) if isinstance(at, str)]
    commands = [
        Command(command, code if isinstance(code, int) else None) for command, code in _pairs(stored.get("commands"))
    ]
    return Carried(tuple(words), _texts(stored.get("read")), _texts(stored.get("changed")), tuple(commands))


def text_of(content: object) -> str:
    """The text of a user prompt; pictures and files are named, not spelled out."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return _named(content)
    return "\n".join(_named(item) for item in content if not isinstance(item, CachePoint))


def exit_code_in(output: str) -> int | None:
    """The exit code that a command's output tells, at its end or in its first line."""
    first_line = output[:_OUTPUT_ENDS].split("\n", 1)[0]
    codes = _EXIT_CODE.findall(output[-_OUTPUT_ENDS:]) or _EXIT_CODE.findall(first_line)
    return int(codes[-1]) if codes and len(codes[-1]) < len("-1234567890") else None


def _named(item: object) -> str:
    match item:
        case str():
            return item
        case TextContent():
            return item.content
        case BinaryContent():
            return f"[{item.media_type}]"
        case _:
            # An address may hold the whole picture (`data:`).
            address = str(getattr(item, "url", None) or type(item).__name__)
            return f"[{address if len(address) <= _LONGEST_ADDRESS else address[:_LONGEST_ADDRESS] + '…'}]"


def _texts(stored: object) -> tuple[str, ...]:
    return tuple(item for item in stored if isinstance(item, str)) if isinstance(stored, list | tuple) else ()


def _pairs(stored: object) -> Iterable[tuple[str, Any]]:
    for pair in stored if isinstance(stored, list | tuple) else ():
        match pair:
            case [str() as first, second]:
                yield first, second


def _user_words(parts: Sequence[Any]) -> Iterable[UserWords]:
    for part in parts:
        if isinstance(part, UserPromptPart) and (text := text_of(part.content)).strip():
            yield UserWords(_stored(text), part.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _stored(text: str) -> str:
    """A prompt as it is kept; of one that is a book, both ends. The log has all of it."""
    if len(text) <= _MOST_STORED_CHARACTERS:
        return text
    half = _MOST_STORED_CHARACTERS // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out; `recall` has them …]\n{text[-half:]}"


def _calls(messages: Sequence[Said]) -> Iterable[tuple[ToolCallPart, ToolReturnPart | None]]:
    """Every call with its result: the first with its id after the response and before the next one.

    By position, as local models use the same ids again and again.
    """
    open_calls: list[ToolCallPart] = []
    results: dict[int, ToolReturnPart] = {}
    made: list[ToolCallPart] = []
    for message, parts in messages:
        if isinstance(message, ModelResponse):
            open_calls = [part for part in parts if isinstance(part, ToolCallPart)]
            made += open_calls
            continue
        for part in parts:
            if not isinstance(part, ToolReturnPart):
                continue
            for call in open_calls:
                if call.tool_call_id == part.tool_call_id and id(call) not in results:
                    results[id(call)] = part
                    break
    return [(call, results.get(id(call))) for call in made]


def _arguments(call: ToolCallPart) -> Mapping[str, Any]:
    try:
        return call.args_as_dict()
    except (ValueError, AssertionError):
        return {}


def _changed_something(call: ToolCallPart, arguments: Mapping[str, Any], result: ToolReturnPart | None) -> bool:
    """Whether a call is one that changes the files it names, and did: refused and failed ones changed nothing."""
    if result is not None and result.outcome != "success":
        return False
    return bool(_CHANGES.search(call.tool_name)) and arguments.get("command") not in _EDITOR_READS


def _paths(call: ToolCallPart, arguments: Mapping[str, Any]) -> Iterable[str]:
    paths = [arguments.get(name) for name in _PATH_ARGUMENTS]
    for name in _PATHS_ARGUMENTS:
        paths += several if isinstance(several := arguments.get(name), list) else []
    if "patch" in call.tool_name:
        paths += [path for value in arguments.values() if isinstance(value, str) for path in _patched(value)]
    return [path for path in paths if isinstance(path, str) and path.strip() and path != "."]


def _patched(patch: str) -> list[str]:
    return [path for path in _PATH_IN_PATCH.findall(patch) if path != "/dev/null"]


def _command(arguments: Mapping[str, Any]) -> str | None:
    if any(isinstance(arguments.get(name), str) for name in _PATH_ARGUMENTS):
        # Beside a path, `command` is what an editor is to do there.
        return None
    for name in _COMMAND_ARGUMENTS:
        match arguments.get(name):
            case str() as command if command.strip():
                return command
            case [*words] if words and all(isinstance(word, str) for word in words):
                return shlex.join(words)
    return None


def _newest(paths: dict[str, None], path: str) -> None:
    paths.pop(path, None)
    paths[path] = None


def _exit_code(result: ToolReturnPart | None) -> int | None:
    return exit_code_in(result.content) if result is not None and isinstance(result.content, str) else None


def _one_line(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _LONGEST_COMMAND else f"{line[:_LONGEST_COMMAND]}…"
