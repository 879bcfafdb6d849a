"""What a summary must not lose is not left to a model (CASCADE §12): the user's words, files, commands.

Collected by code from full-fidelity messages, cumulative over any number of compactions, kept in the summary message's
metadata and written into its text anew each time. Nothing here is ever summarised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve, field, frozen
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.compaction.estimate import Estimator

MOST_COMMANDS: Final = 20
_MOST_FILES: Final = 150
_MOST_STORED_CHARACTERS: Final = 200_000
_PATH_ARGUMENTS: Final = ("path", "file_path", "filepath", "filename", "file", "notebook_path", "target_file")
_COMMAND_ARGUMENTS: Final = ("command", "cmd", "script")
_CHANGES: Final = re.compile(r"write|edit|create|replace|patch|insert|apply|delete|move|rename", re.IGNORECASE)
_EXIT_CODE: Final = re.compile(r"exit(?:ed)?(?: with)?(?: code| status)?[: ]+(-?\d+)", re.IGNORECASE)
_PATH_IN_TEXT: Final = re.compile(r"(?<![\w/.-])(?:\.{0,2}/)?(?:[\w.@-]+/)+[\w.@-]+\.[A-Za-z]\w{0,7}\b")


@frozen
class UserWords:
    """One message of the user's, verbatim; `at` is its ISO 8601 date and time."""

    text: str
    at: str


@frozen
class Command:
    """A shell command that was run; `exit_code` None where it was not told."""

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

    def and_then(self, messages: Sequence[tuple[ModelMessage, Sequence[Any]]]) -> Carried:
        """This and what further messages say. Each comes with the parts of it that count."""
        words = [*self.words]
        for message, parts in messages:
            if isinstance(message, ModelRequest):
                words += [UserWords(text, at) for text, at in _user_words(parts)]
        results = _results(messages)
        calls = [call for _, parts in messages for call in parts if isinstance(call, ToolCallPart)]
        read, changed = dict.fromkeys(self.read), dict.fromkeys(self.changed)
        commands = [*self.commands]
        for call in calls:
            arguments = _arguments(call)
            for path in _paths(arguments):
                into = changed if _CHANGES.search(call.tool_name) else read
                into.pop(path, None)
                into[path] = None
            for command in _commands(arguments):
                commands.append(Command(_one_line(command), _exit_code(results.get(id(call)))))
                for path in _PATH_IN_TEXT.findall(command)[:8]:
                    read.pop(path, None)
                    read[path] = None
        return Carried(
            words=tuple(words),
            read=tuple(read)[-_MOST_FILES:],
            changed=tuple(changed)[-_MOST_FILES:],
            commands=tuple(commands)[-MOST_COMMANDS:],
        )

    def render(self, budget: int, estimator: Estimator) -> str:
        """The sections under the summary. The user's words take at most `budget` tokens, newest first."""
        sections = [self._render_words(budget, estimator), self._render_files(budget, estimator)]
        if self.commands:
            lines = [f"- `{each.command}`{_exit_words(each.exit_code)}" for each in self.commands]
            sections.append("\n".join(["# Commands run, newest last", *lines]))
        return "\n\n".join(section for section in sections if section)

    def _render_words(self, budget: int, estimator: Estimator) -> str:
        if not self.words:
            return ""
        first = _clip_middle(self.words[0].text, max(budget // 3, 50), estimator)
        room = budget - estimator.text(first)
        shown: list[tuple[UserWords, str]] = []
        for words in reversed(self.words[1:]):
            cost = estimator.text(words.text) + 8
            if cost > room:
                break
            room -= cost
            shown.append((words, words.text))
        shown.append((self.words[0], first))
        left_out = len(self.words) - len(shown)
        lines = [
            "# What the user said, verbatim and in order",
            "Where two of these contradict each other, the later one is current.",
        ]
        for position, (words, text) in enumerate(reversed(shown)):
            if position == 1 and left_out:
                lines.append(f"[{left_out} of the user's messages are not shown here: `recall` finds them.]")
            lines.append(f"[{words.at}] {text}")
        if left_out and len(shown) == 1:
            lines.append(f"[{left_out} of the user's messages are not shown here: `recall` finds them.]")
        return "\n".join(lines)

    def _render_files(self, budget: int, estimator: Estimator) -> str:
        lines = []
        room = max(budget // 2, 100)
        for title, paths in (("# Files changed", self.changed), ("# Files read or named", self.read)):
            kept: list[str] = []
            for path in reversed(paths):
                room -= estimator.text(path) + 2
                if room < 0:
                    break
                kept.append(f"- {path}")
            if kept:
                lines.append("\n".join([title, *reversed(kept)]))
        return "\n\n".join(lines)


def carried_from_json(stored: object) -> Carried:
    """What `to_json` made; nothing of what does not have that shape."""
    if not isinstance(stored, Mapping):
        return Carried()
    return Carried(
        words=tuple(UserWords(each[0], each[1]) for each in _pairs(stored.get("words")) if isinstance(each[0], str)),
        read=_texts(stored.get("read")),
        changed=_texts(stored.get("changed")),
        commands=tuple(Command(*each) for each in _pairs(stored.get("commands")) if isinstance(each[0], str)),
    )


def without_words(carried: Carried) -> Carried:
    """Everything but the user's words."""
    return evolve(carried, words=())


def text_of(content: object) -> str:
    """The text of a user prompt; pictures and files are named."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return str(content)
    return "\n".join(
        item if isinstance(item, str) else f"[{item.media_type}]" if isinstance(item, BinaryContent) else f"[{item}]"
        for item in content
    )


def _texts(stored: object) -> tuple[str, ...]:
    return tuple(item for item in stored if isinstance(item, str)) if isinstance(stored, list) else ()


def _pairs(stored: object) -> Iterable[Sequence[Any]]:
    pairs = stored if isinstance(stored, Sequence) else ()
    return [pair for pair in pairs if isinstance(pair, Sequence) and len(pair) == len(("first", "second"))]


def _user_words(parts: Sequence[Any]) -> Iterable[tuple[str, str]]:
    for part in parts:
        if isinstance(part, UserPromptPart):
            text = text_of(part.content)
            if text.strip():
                at = part.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ")
                yield _stored(text), at


def _stored(text: str) -> str:
    """A prompt as it is kept; of one that is a book, both ends. The log has all of it."""
    if len(text) <= _MOST_STORED_CHARACTERS:
        return text
    half = _MOST_STORED_CHARACTERS // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out; `recall` has them …]\n{text[-half:]}"


def _results(messages: Sequence[tuple[ModelMessage, Sequence[Any]]]) -> dict[int, ToolReturnPart]:
    """Call (by identity) -> its result: the first with its id after the response, before the next response."""
    found = {}
    waiting: dict[str, ToolCallPart] = {}
    for message, parts in messages:
        if isinstance(message, ModelResponse):
            waiting = {part.tool_call_id: part for part in parts if isinstance(part, ToolCallPart)}
        else:
            for part in parts:
                if isinstance(part, ToolReturnPart) and (call := waiting.pop(part.tool_call_id, None)) is not None:
                    found[id(call)] = part
    return found


def _arguments(call: ToolCallPart) -> Mapping[str, Any]:
    try:
        return call.args_as_dict()
    except (ValueError, AssertionError):
        return {}


def _paths(arguments: Mapping[str, Any]) -> Iterable[str]:
    return [value for name in _PATH_ARGUMENTS if isinstance(value := arguments.get(name), str) and value]


def _commands(arguments: Mapping[str, Any]) -> Iterable[str]:
    return [value for name in _COMMAND_ARGUMENTS if isinstance(value := arguments.get(name), str) and value]


def _exit_code(result: ToolReturnPart | None) -> int | None:
    if result is None or not isinstance(result.content, str):
        return None
    codes = _EXIT_CODE.findall(result.content[-400:])
    return int(codes[-1]) if codes else None


def _exit_words(exit_code: int | None) -> str:
    return "" if exit_code is None else f" (exit code {exit_code})"


def _one_line(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 200 else f"{line[:200]}…"


def _clip_middle(text: str, budget: int, estimator: Estimator) -> str:
    if estimator.text(text) <= budget:
        return text
    keep = max(len(text) * budget // max(estimator.text(text), 1), 40)
    head, tail = keep * 2 // 3, keep - keep * 2 // 3
    return f"{text[:head]}\n[… {len(text) - keep} characters left out; `recall` has them …]\n{text[-tail:]}"
