import re
from pathlib import Path
from typing import get_args

import pytest

from agent_ls.slash_commands import AVAILABLE, CommandName, SlashCommand, UnknownCommand, listing, parse

ROOT = Path(__file__).parents[1]


def test_every_available_command_is_a_command_name() -> None:
    assert {command.name for command in AVAILABLE} == set(get_args(CommandName))


@pytest.mark.parametrize(
    ("prompt", "name", "argument"),
    [
        ("/compact", "compact", ""),
        ("  /compact  ", "compact", ""),
        ("/compact keep the API design", "compact", "keep the API design"),
        ("/compact two\nlines", "compact", "two\nlines"),
        ("/resume latest", "resume", "latest"),
        ("/help", "help", ""),
    ],
)
def test_commands_are_recognised(prompt: str, name: CommandName, argument: str) -> None:
    assert parse(prompt) == SlashCommand(name, argument)


@pytest.mark.parametrize("prompt", ["/usr/bin", "/etc/hosts is wrong", "/", "//", "what does /compact do?", "", "/1"])
def test_paths_and_prose_are_prompts(prompt: str) -> None:
    assert parse(prompt) is None


def test_an_unknown_word_is_named() -> None:
    assert parse("/compcat now") == UnknownCommand("compcat")


def test_the_listing_names_every_command() -> None:
    assert all(f"/{command.name}" in listing() for command in AVAILABLE)


@pytest.mark.parametrize(
    "page",
    ["README.md", "docs/protocol.md", "editors/neovim/lua/agent_ls/commands.lua", "editors/neovim/doc/agent_ls.txt"],
)
def test_every_place_that_lists_the_commands_lists_all(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [command.name for command in AVAILABLE if not re.search(rf"/{command.name}\b", text)] == []
