"""`agent-ls doctor`: settings with sources, the model and what it lacks, and no secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.cli.main import run
from agent_ls.memory.store import MemoryStore
from agent_ls.settings import user_config_file

KEY = "sk-ant-api03-this-is-very-secret-indeed"


@pytest.fixture(autouse=True)
def clean_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    status = run(["doctor", "--workspace", str(tmp_path), *options])
    return status, capsys.readouterr().out


def test_settings_are_shown_with_their_sources_and_problems_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    user_config_file().parent.mkdir(parents=True)
    user_config_file().write_text("memory_max_lines = 50\nmodle = 'x'\ncompaction_enabled = 'yes'\n")
    monkeypatch.setenv("AGENT_LS_LOG_LEVEL", "debug")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    status, out = doctor(tmp_path, capsys)
    assert status == 1  # what was set is not what is in force
    lines = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert lines["memory_max_lines"].split()[1:] == ["50", str(user_config_file())]
    assert lines["log_level"].endswith("the environment (AGENT_LS_LOG_LEVEL)")
    assert lines["compaction_enabled"].split()[1:] == ["true", "default"]
    assert "did you mean 'model'" in out
    assert "compaction_enabled = 'yes'" in out
    assert KEY not in out


def test_a_model_that_can_be_used_is_ready(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    status, out = doctor(tmp_path, capsys)
    assert status == 0
    assert "model: anthropic:" in out
    assert "ready" in out
    assert KEY not in out


@pytest.mark.parametrize(
    ("model", "environ", "said"),
    [
        ("openai:gpt-5", {"OPENAI_API_KEY": KEY}, "Its key is there"),
        ("openai:gpt-5", {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "http://localhost:1/v1"}, "No key is set (OPENAI"),
        ("ollama:qwen3", {"OLLAMA_BASE_URL": "http://localhost:1/v1"}, "What its provider needs is set"),
    ],
)
def test_a_key_is_called_there_only_where_it_is(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    environ: dict[str, str],
    said: str,
) -> None:
    for name, value in {"AGENT_LS_MODEL": model, **environ}.items():
        monkeypatch.setenv(name, value)
    status, out = doctor(tmp_path, capsys)
    assert status == 0
    assert said in out
    assert KEY not in out


def test_a_missing_key_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_LS_MODEL", "openai:gpt-5")
    status, out = doctor(tmp_path, capsys)
    assert status == 1
    assert "NOT AVAILABLE" in out
    assert "OPENAI_API_KEY" in out


def test_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    status, out = doctor(tmp_path, capsys, "--json")
    report = json.loads(out)
    assert status == 0
    assert report["model"]["available"] is True
    assert {"name": "model", "value": None, "source": "default"} in report["settings"]
    assert KEY not in out


def test_doctor_makes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    doctor(workspace, capsys)
    assert not list(workspace.iterdir())
    assert not (tmp_path / "home").exists()


def test_the_memory_and_the_logs_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".agent_ls" / "sessions").mkdir(parents=True)
    MemoryStore(tmp_path / ".agent_ls").add_line("- use tabs")
    _, out = doctor(tmp_path, capsys)
    assert "1 of 200 lines, 11 of 25,000 bytes" in out
    assert f"session logs: {tmp_path / '.agent_ls' / 'sessions'}" in out
