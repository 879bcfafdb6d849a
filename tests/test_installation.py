"""The hint that names a command names the one that works for this installation."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from agent_ls.installation import how_to_add


def test_pip_is_the_running_interpreters(tmp_path: Path) -> None:
    assert how_to_add("agent-ls[local]", tmp_path) == f"{shlex.quote(sys.executable)} -m pip install 'agent-ls[local]'"


def test_pipx_injects(tmp_path: Path) -> None:
    (tmp_path / "pipx_metadata.json").write_text("{}")
    assert how_to_add("ripgrep", tmp_path) == "pipx inject agent-ls ripgrep"


@pytest.mark.parametrize(
    ("own", "source"),
    [
        ('{ name = "agent-ls" }', "agent-ls"),
        ('{ name = "agent-ls", extras = ["openai"] }', "'agent-ls[openai]'"),
        ('{ name = "agent-ls", extras = ["a", "b"], path = "/my wheels/x.whl" }', "'/my wheels/x.whl[a,b]'"),
        ('{ name = "agent-ls", directory = "/clone" }', "/clone"),
        ("not TOML", "agent-ls"),
    ],
)
def test_uv_installs_anew_from_where_it_was_installed(tmp_path: Path, own: str, source: str) -> None:
    (tmp_path / "uv-receipt.toml").write_text(f"[tool]\nrequirements = [{own}]\n")
    assert how_to_add("ripgrep", tmp_path) == f"uv tool install --with ripgrep {source}"


def test_the_prefix_is_the_running_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pipx_metadata.json").write_text("{}")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert how_to_add("ripgrep") == "pipx inject agent-ls ripgrep"
