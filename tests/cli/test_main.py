"""The command line as a whole: commands, mistakes, pipes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from agent_ls import __version__
from agent_ls.cli.main import COMMANDS, run
from agent_ls.errors import SessionNotFound


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"agent-ls {__version__}\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_module(name: str) -> None:
    assert importlib.util.find_spec(f"agent_ls.cli.{name.replace('-', '_')}_command")


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"demo", "chat"}))
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert f"usage: agent-ls {name}" in capsys.readouterr().out


def test_an_unknown_command_is_refused_with_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sesions"]) == 2
    error = capsys.readouterr().err
    assert "'sesions'" in error
    assert "Did you mean `sessions`?" in error


def test_an_argument_that_is_not_understood_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sessions", "--nonsense"]) == 2
    assert "--nonsense" in capsys.readouterr().err


def test_what_a_command_reports_is_one_line_for_a_person(capsys: pytest.CaptureFixture[str], tmp_path: object) -> None:
    assert run(["export", "--workspace", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("agent-ls export: There is no session in ")
    assert SessionNotFound.__name__ not in error


def test_options_without_a_command_are_the_server_s(capsys: pytest.CaptureFixture[str]) -> None:
    """Editors start `agent-ls --stdio`."""
    assert run(["--stdio", "--help-me"]) == 2
    assert "usage: agent-ls serve" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: object) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "agent_ls", "sessions", "--workspace", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()


def test_looking_at_the_command_line_imports_no_model_library() -> None:
    check = (
        "import sys; from agent_ls.cli.main import run; run(['--version']); run(['sessions', '--workspace', '/']);"
        "sys.exit('pydantic_ai' in sys.modules or 'pygls' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False, capture_output=True).returncode == 0
