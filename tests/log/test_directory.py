from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agent_ls.log.directory import session_directory


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    return home


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    workspace = tmp_path / "my project"
    workspace.mkdir()
    return workspace


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_private_and_ignored_by_git(workspace: Path, home: Path) -> None:
    directory = session_directory(workspace)
    assert directory.notice is None
    assert directory.root == workspace / ".agent_ls"
    assert directory.sessions == workspace / ".agent_ls" / "sessions"
    assert (mode(directory.root), mode(directory.sessions)) == (0o700, 0o700)
    assert (directory.root / ".gitignore").read_text() == "*\n"
    assert mode(directory.root / ".gitignore") == 0o600


def test_one_that_is_open_to_others_is_made_private_and_its_files_are_kept(workspace: Path, home: Path) -> None:
    (workspace / ".agent_ls" / "sessions").mkdir(mode=0o755, parents=True)
    (workspace / ".agent_ls" / ".gitignore").write_text("mine\n")
    directory = session_directory(workspace)
    assert mode(directory.root) == 0o700
    assert (directory.root / ".gitignore").read_text() == "mine\n"


@pytest.mark.parametrize("obstacle", ["a file", "a symlink", "a sessions symlink", "no workspace"])
def test_where_it_cannot_be_the_users_data_directory_is_used_and_said(
    workspace: Path, home: Path, tmp_path: Path, obstacle: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if obstacle == "a file":
        (workspace / ".agent_ls").write_text("")
    elif obstacle == "a symlink":
        (workspace / ".agent_ls").symlink_to(elsewhere)
    elif obstacle == "a sessions symlink":
        (workspace / ".agent_ls").mkdir()
        (workspace / ".agent_ls" / "sessions").symlink_to(elsewhere)
    else:
        workspace.rmdir()
    directory = session_directory(workspace)
    assert directory.root.is_relative_to(home)
    assert directory.sessions.is_dir()
    assert mode(directory.root) == 0o700
    assert directory.notice is not None
    assert str(directory.root) in directory.notice
    assert str(workspace / ".agent_ls") in directory.notice
    assert list(elsewhere.iterdir()) == []
    assert session_directory(workspace) == directory


def test_two_workspaces_of_one_name_do_not_share(tmp_path: Path, home: Path) -> None:
    roots = []
    for parent in ("a", "b"):
        workspace = tmp_path / parent / "same"
        workspace.mkdir(parents=True)
        (workspace / ".agent_ls").write_text("")
        roots.append(session_directory(workspace).root)
    assert roots[0] != roots[1]
