"""What the pages name exists: links and their anchors, files, tests, commands and options, settings, error kinds."""

from __future__ import annotations

import argparse
import importlib
import re
from pathlib import Path
from typing import Final

import pytest

from agent_ls import protocol
from agent_ls.cli.main import COMMANDS, CommandModule
from agent_ls.settings.schema import FIELDS
from tests.simulator.server import API_KEY

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = sorted(
    page
    for folder in (".", "docs", "docs/adr", "benchmarks", "editors/vscode")
    for page in (ROOT / folder).glob("*.md")
)
"""Without docs/spec: the names in it are those of the beginning."""
SUFFIXES: Final = "py|md|ts|lua|toml|json|sh|xz|txt|css"
FOLDERS: Final = ("", "agent_ls", "docs", "tests", "tests/tools", "editors/vscode")
"""Where a page may mean a path from: the project's root, the package, or the folder the page says it is about."""
ELSEWHERE: Final = re.compile(
    r"^(?:~|/|<|\.|https?:|.*[*<{…])|"
    # Files of a workspace or of the user's, and other projects'.
    r"(?:^|/)(?:AGENTS|CLAUDE|MEMORY|memory-archive|memory-journal|config|permissions|page|init|LOG|messages)\b"
)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    headings = re.findall(r"^#{1,6} (.+)$", text_of(page), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


def exists(path: str, page: Path) -> bool:
    return any((folder / path).exists() for folder in [page.parent, *(ROOT / each for each in FOLDERS)])


def by_name() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@by_name()
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)", text_of(page)) + re.findall(r'(?:src|srcset|href)="([^"]+)"', text_of(page))
    for link in links:
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors_of(target), link


@by_name()
def test_named_files_exist(page: Path) -> None:
    for named in re.findall(rf"`([\w./-]*\w/[\w.-]+\.(?:{SUFFIXES}))(?:::[\w*]+)?`", text_of(page)):
        if not ELSEWHERE.search(named):
            assert exists(named, page), named


TESTS: Final = "\n".join(text_of(path) for path in (ROOT / "tests").rglob("test_*.py"))


@by_name()
def test_named_tests_exist(page: Path) -> None:
    for named in re.findall(r"(?:::|`)(test_\w+)(?=`)", text_of(page)):
        if not named.endswith("_"):
            assert f"def {named}(" in TESTS or exists(f"{named}.py", page), named
    for path, named in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text_of(page)):
        assert f"def {named}(" in text_of(ROOT / path), f"{path}::{named}"


def options_of(command: str) -> set[str]:
    module: CommandModule = importlib.import_module(f"agent_ls.cli.{command.replace('-', '_')}_command")
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return {option for action in parser._actions for option in action.option_strings}


@by_name()
def test_named_commands_and_their_options_exist(page: Path) -> None:
    fenced = "\n".join(re.findall(r"^```\w*\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL))
    in_text = re.findall(r"`agent-ls +([a-z][a-z-]*)([^`\n]*)`", text_of(page))
    in_fences = re.findall(r"^agent-ls +([a-z][a-z-]*)([^\n#|]*)", fenced, re.MULTILINE)
    for command, rest in [*in_text, *in_fences]:
        assert command in COMMANDS, f"agent-ls {command}"
        for option in re.findall(r"(?<!\S)\[?(--[a-z-]+)", rest):
            assert option in options_of(command), f"agent-ls {command} {option}"


@by_name()
def test_named_scripts_exist(page: Path) -> None:
    for script in re.findall(r"(?<![\w/.])(scripts/[\w.]+)", text_of(page)):
        assert exists(script, page), script


@by_name()
def test_named_settings_exist(page: Path) -> None:
    known = {*FIELDS, "compaction_id"}  # a field of the log
    for name in re.findall(r"`((?:compaction|microcompaction|memory|permission)_[a-z_]+)(?: = [^`]*)?`", text_of(page)):
        assert name in known, name
    for name in re.findall(r"AGENT_LS_((?:COMPACTION|MEMORY|PERMISSION|MICROCOMPACTION)_[A-Z_]+)", text_of(page)):
        assert name.lower() in known, name


@pytest.mark.parametrize("folder", ["agent_ls", "tests", "benchmarks", "editors/neovim", "editors/vscode/src", "docs"])
def test_what_comments_cite_is_there(folder: str) -> None:
    spec = {page.stem: text_of(page) for page in (ROOT / "docs" / "spec").glob("*.md")}
    for path in (path for suffix in ("py", "lua", "ts", "md") for path in (ROOT / folder).rglob(f"*.{suffix}")):
        text = text_of(path)
        for page, section in re.findall(r"\b(DESIGN|CASCADE) §(\d+)", text):
            assert f"\n## {section}. " in spec[page], f"{page} §{section} in {path.name}"
        for number in re.findall(r"\bFAULTS (\d+)", text):
            assert re.search(rf"^ ?{number}\. ", spec["FAULTS"], re.MULTILINE), f"FAULTS {number} in {path.name}"
        for heading in re.findall(r'\bPROTOCOL "([^"]+)"', text):
            assert heading.partition("(")[0] in spec["PROTOCOL"], f"PROTOCOL {heading!r} in {path.name}"
        assert not re.search(r"\b(?:facts [A-Z]|issue )\d", text), f"{path.name} cites what is not in the clone"


def test_variables_of_the_scripts_are_not_taken_for_settings() -> None:
    """The prefix is the settings': doctor and chat would call any other name with it an unknown setting."""
    for script in [*(ROOT / "scripts").iterdir(), *(ROOT / ".ci").glob("*"), ROOT / "CONTRIBUTING.md"]:
        for name in re.findall(r"AGENT_LS_(\w+)", text_of(script)) if script.is_file() else ():
            assert name.lower() in FIELDS, f"{name} in {script.name}"


METHODS: Final = {value for value in vars(protocol).values() if isinstance(value, str) and value.startswith("agent/")}


@by_name()
def test_named_lsp_commands_exist(page: Path) -> None:
    for name in re.findall(r"`(agent\.[a-zA-Z]+)`", text_of(page)):
        assert name.replace(".", "/", 1) in METHODS, name


def test_contributing_names_a_key_that_the_simulator_accepts() -> None:
    keys = re.findall(r"OPENAI_API_KEY=(\S+)", text_of(ROOT / "CONTRIBUTING.md"))
    assert keys == [API_KEY]
