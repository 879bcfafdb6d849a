"""The demo checks every claim it shows and ends with 0 only if all hold."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agent_ls import local_model


@pytest.mark.local_model
@pytest.mark.timeout(600)
@pytest.mark.skipif(not local_model.is_installed(), reason="the local model is not installed (agent-ls install-local)")
def test_the_demo_shows_what_it_promises() -> None:
    environ = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-m", "agent_ls", "demo"], capture_output=True, text=True, env=environ, check=False
    )
    shown = done.stdout
    assert done.returncode == 0, shown + done.stderr
    in_order = [
        "? May I: Edit shop.py",
        "+    return sum(price * quantity",
        "✓ Run python3 test_shop.py",
        "~ microcompaction",
        "~ full compaction",
        "✓ Recall billing_25",
        "The last compaction is undone",
        "$ kill -9",
        "Resumed:",
        "Tool definitions",
        "Everything shown was checked.",
    ]
    places = [shown.find(words) for words in in_order]
    assert -1 not in places, shown
    assert places == sorted(places), shown
    assert "✗ not so" not in shown
