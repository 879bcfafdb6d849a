"""The demo checks every claim it shows and ends with 0 only if all hold."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls import local_model

IN_ORDER = (
    "? Edit shop.py: allow it?",
    "└ ok: a basket",
    "microcompaction at the end of the turn",
    "for this session)",
    "full compaction before the next request: a model writes a summary",
    "full compaction before the next request: ",
    "● Recall billing_70",
    "microcompaction after the undo: ",
    "The last compaction is undone",
    "$ kill -9",
    "messages in the log before that turn",
    "Tool definitions",
    "Everything shown was checked",
)


WITHOUT_THE_MODEL = """\
from agent_ls import local_model
local_model.is_installed = lambda: False
from agent_ls.cli.main import main
main(["demo"])
"""


def demo(home: Path, command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **more}
    command = [sys.executable, *command]
    return subprocess.run(command, capture_output=True, text=True, env=environ, check=False, cwd=home)


def held(done: subprocess.CompletedProcess[str]) -> None:
    """It showed everything, in order, and all of it was true."""
    shown = done.stdout
    assert done.returncode == 0, shown + done.stderr
    assert done.stderr == ""
    rest = shown
    for words in IN_ORDER:
        assert words in rest, f"{words!r} does not follow: {shown}"
        rest = rest.partition(words)[2]
    assert "✗" not in shown


@pytest.mark.local_model
@pytest.mark.timeout(600)
@pytest.mark.skipif(not local_model.is_installed(), reason="the local model is not installed (agent-ls install-local)")
def test_the_demo_shows_what_it_promises(tmp_path: Path) -> None:
    held(demo(tmp_path, ["-m", "agent_ls", "demo"]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(600)
def test_without_the_local_model_the_demo_shows_the_same_and_says_how_to_get_it(tmp_path: Path) -> None:
    hostile = {"AGENT_LS_PERMISSION_MODE": "readOnly", "HTTP_PROXY": "http://127.0.0.1:9"}
    # As in a clone: its `.venv/bin` is on nobody's PATH.
    own = str(Path(sys.executable).parent)
    path = os.pathsep.join(folder for folder in os.environ["PATH"].split(os.pathsep) if folder != own)
    done = demo(tmp_path, ["-c", WITHOUT_THE_MODEL], **hostile, PATH=path)
    held(done)
    assert "agent-ls[local]" in done.stdout
    _, _, what_next = done.stdout.partition("What next:")
    program = what_next.split()[0]
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("agent-ls "), "the command can be typed as it stands there"


def test_a_claim_that_does_not_hold_is_named_and_fails_the_demo(tmp_path: Path) -> None:
    too_large = "from agent_ls.demo import script\nscript.WINDOW = 100_000\n"
    done = demo(tmp_path, ["-c", too_large + WITHOUT_THE_MODEL])
    assert done.returncode == 1
    assert "✗ not so: past 60 % a microcompaction made room" in done.stdout
    assert "✓ after kill -9 every message is still there" in done.stdout
    assert "Not everything shown is true" in done.stdout
