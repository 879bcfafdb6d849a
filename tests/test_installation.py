"""The hint that names a command names the one that works for this installation, and forgets nothing it has."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from agent_ls.installation import how_to_add, how_to_run


def pipx(prefix: Path, source: object) -> None:
    (prefix / "pipx_metadata.json").write_text(json.dumps({"main_package": {"package_or_url": source}}))


def test_pip_is_the_running_interpreters(tmp_path: Path) -> None:
    assert how_to_add("agent-ls[local]", tmp_path) == f"{shlex.quote(sys.executable)} -m pip install 'agent-ls[local]'"


def test_an_environment_without_pip_is_uvs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    python = shlex.quote(sys.executable)
    assert how_to_add("agent-ls[local]", tmp_path) == f"uv pip install --python {python} 'agent-ls[local]'"


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("/my clone", "'/my clone[openai]'"),
        ("/clone[anthropic]", "'/clone[anthropic,openai]'"),
        ("/clone[openai, local]", "'/clone[openai,local]'"),
        ("agent-ls", "'agent-ls[openai]'"),
    ],
)
def test_pipx_installs_anew_with_one_extra_more(tmp_path: Path, source: str, wanted: str) -> None:
    pipx(tmp_path, source)
    assert how_to_add("agent-ls[openai]", tmp_path) == f"pipx install --force {wanted}"


@pytest.mark.parametrize("source", ["git+https://example.org/agent_ls", "agent-ls==0.1", None, 1])
def test_pipx_injects_what_an_extra_consists_of_where_the_source_cannot_be_said_again(
    tmp_path: Path, source: object
) -> None:
    pipx(tmp_path, source)
    words = shlex.split(how_to_add("agent-ls[local]", tmp_path))
    assert words[:3] == ["pipx", "inject", "agent-ls"]
    assert [word.partition(">=")[0] for word in words[3:]] == ["openai", "tiktoken", "xllamacpp"]


def test_pipx_injects_the_packages_of_another_provider_and_not_pydantic_ai_again(tmp_path: Path) -> None:
    """It is there: unforced nothing happens, and forced it becomes newer than agent_ls allows."""
    pipx(tmp_path, "/clone[anthropic]")
    assert how_to_add("pydantic-ai-slim[groq]", tmp_path).startswith("pipx inject agent-ls 'groq>=")
    assert how_to_add("ripgrep", tmp_path) == "pipx inject agent-ls ripgrep"
    assert how_to_add("unheard-of[x]", tmp_path) == "pipx inject agent-ls 'unheard-of[x]'"


@pytest.mark.parametrize(
    ("own", "source"),
    [
        ('{ name = "agent-ls" }', "agent-ls"),
        ('{ name = "agent-ls", specifier = "==0.1" }', "agent-ls==0.1"),
        ('{ name = "agent-ls", extras = ["openai"] }', "'agent-ls[openai]'"),
        ('{ name = "agent-ls", extras = ["a", "b"], path = "/my wheels/x.whl" }', "'/my wheels/x.whl[a,b]'"),
        ('{ name = "agent-ls", directory = "/clone" }', "/clone"),
        ('{ name = "agent-ls", extras = ["a"], editable = "/clone" }', "--editable '/clone[a]'"),
        ('{ name = "agent-ls", git = "https://h/a?rev=1" }', "'agent-ls @ git+https://h/a@1'"),
        ('{ name = "agent-ls", url = "https://h/a.whl" }', "'agent-ls @ https://h/a.whl'"),
        ("not TOML", "agent-ls"),
        ("7", "agent-ls"),
    ],
)
def test_uv_installs_anew_from_where_it_was_installed(tmp_path: Path, own: str, source: str) -> None:
    (tmp_path / "uv-receipt.toml").write_text(f"[tool]\nrequirements = [{own}]\n")
    assert how_to_add("ripgrep", tmp_path) == f"uv tool install --with ripgrep {source}"


def test_uv_keeps_what_was_given_before(tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").write_text(
        "[tool]\npython = '3.12'\nrequirements = [\n"
        '{ name = "agent-ls", extras = ["anthropic"], directory = "/clone" },\n'
        '{ name = "agent-ls", extras = ["openai"], directory = "/clone" },\n'
        '{ name = "pydantic-ai-slim", extras = ["groq"] },\n'
        '{ name = "mine", editable = "/mine" },\n'
        "]\n"
    )
    start = "uv tool install --python 3.12 --with 'pydantic-ai-slim[groq]' --with-editable /mine"
    assert how_to_add("agent-ls[local]", tmp_path) == f"{start} '/clone[anthropic,openai,local]'"
    assert how_to_add("ripgrep", tmp_path) == f"{start} --with ripgrep '/clone[anthropic,openai]'"
    assert how_to_add("pydantic-ai-slim[groq]", tmp_path) == f"{start} '/clone[anthropic,openai]'", "not twice"


def test_the_prefix_is_the_running_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipx(tmp_path, "/clone")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert how_to_add("ripgrep") == "pipx inject agent-ls ripgrep"


def test_the_program_is_named_by_its_path_where_a_shell_does_not_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(sys.executable).parent / "agent-ls"
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert how_to_run("chat") == f"{shlex.quote(str(own))} chat"
    other = tmp_path / "bin" / "agent-ls"
    other.touch(0o755)
    assert how_to_run("chat") != "agent-ls chat", "another one"
    other.unlink()
    # As uv tool and pipx lay it into ~/.local/bin.
    other.symlink_to(own)
    assert how_to_run("chat") == "agent-ls chat"
