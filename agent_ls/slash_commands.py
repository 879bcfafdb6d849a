"""Prompts that are commands: parsed before anything reaches a model (PROTOCOL "agent/prompt", CASCADE §7)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args

from attrs import frozen

from agent_ls.protocol import AvailableCommand

CommandName = Literal["compact", "context", "new", "resume", "undo", "remember", "help"]

AVAILABLE: Final[Sequence[AvailableCommand]] = (
    AvailableCommand("compact", "Summarise the conversation so far and make room", hint="what to focus on"),
    AvailableCommand("context", "Show what fills the context window"),
    AvailableCommand("new", "Start a new session in this folder"),
    AvailableCommand("resume", "Resume an earlier session", hint="session id, or latest"),
    AvailableCommand("undo", "Take back the last compaction"),
    AvailableCommand("remember", "Add a line to this folder's MEMORY.md", hint="the line"),
    AvailableCommand("help", "List these commands"),
)
_NAMES: Final[Mapping[str, CommandName]] = {name: name for name in get_args(CommandName)}

# One word right after the slash, then a blank or the end: `/usr/bin` and `/etc` + `/hosts` are paths, not commands.
_COMMAND = re.compile(r"/(?P<word>[A-Za-z][A-Za-z0-9_-]*)(?:\s+(?P<argument>.*))?\Z", re.DOTALL)


@frozen
class SlashCommand:
    """A known command and the text after it, stripped."""

    name: CommandName
    argument: str


@frozen
class UnknownCommand:
    """A word that looks like a command and is none."""

    word: str


def parse(prompt: str) -> SlashCommand | UnknownCommand | None:
    """The command a prompt begins with; None for a prompt that is meant for the model."""
    match = _COMMAND.match(prompt.strip())
    if match is None:
        return None
    word = match["word"]
    name = _NAMES.get(word)
    return SlashCommand(name, (match["argument"] or "").strip()) if name is not None else UnknownCommand(word)


def listing() -> str:
    """The commands as Markdown, one a line."""
    return "\n".join(
        f"- `/{command.name}{f' [{command.hint}]' if command.hint else ''}` {command.description}"
        for command in AVAILABLE
    )


def unknown_command_text(word: str) -> str:
    """What a person reads after an unknown `/word`."""
    return f"There is no command `/{word}`. The commands are:\n\n{listing()}"
