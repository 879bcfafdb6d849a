"""The workspace's own directory, with a kill, a power cut or a refusal at every operation that makes it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from agent_ls.errors import LogUnwritable
from agent_ls.log.directory import session_directory
from tests.disk.faulty_files import REFUSALS, Fault, FaultyFiles, Killed

from .test_directory import home, mode, workspace

__all__ = ["home", "workspace"]


def whole(workspace: Path) -> bool:
    root = workspace / ".agent_ls"
    return (root / ".gitignore").read_bytes() == b"*\n" and mode(root) == mode(root / "sessions") == 0o700


def steps(workspace: Path) -> range:
    files = FaultyFiles()
    session_directory(workspace, files)
    assert whole(workspace)
    shutil.rmtree(workspace / ".agent_ls")
    assert files.count == 4
    return range(files.count)


@pytest.mark.parametrize("fault", ["kills", "cuts the power"])
def test_killed_at_every_operation_the_next_start_makes_it_whole(workspace: Path, home: Path, fault: Fault) -> None:
    for at in steps(workspace):
        with pytest.raises(Killed):
            session_directory(workspace, FaultyFiles(fault, {at}))
        directory = session_directory(workspace)
        assert directory.notice is None
        assert whole(workspace), f"at operation {at}"
        shutil.rmtree(directory.root)


def test_half_a_line_ignores_as_well_as_a_whole_one(workspace: Path, home: Path) -> None:
    with pytest.raises(Killed):
        session_directory(workspace, FaultyFiles("kills after half", {3}))
    assert (session_directory(workspace).root / ".gitignore").read_bytes() == b"*"


@pytest.mark.parametrize("refusal", REFUSALS)
def test_refused_once_at_every_operation_sessions_are_kept_elsewhere_and_it_is_said_why(
    workspace: Path, home: Path, refusal: int
) -> None:
    for at in steps(workspace):
        directory = session_directory(workspace, FaultyFiles("fails", {at}, refusal=refusal))
        assert directory.root.is_relative_to(home)
        assert directory.notice is not None
        assert f"{workspace / '.agent_ls'} cannot be used: {os.strerror(refusal)}" in directory.notice
        assert session_directory(workspace).notice is None
        assert whole(workspace), f"at operation {at}"
        shutil.rmtree(workspace / ".agent_ls")


@pytest.mark.parametrize("refusal", REFUSALS)
def test_refused_everywhere_the_error_names_both_places_and_what_to_do(
    workspace: Path, home: Path, refusal: int
) -> None:
    for at in steps(workspace):
        with pytest.raises(LogUnwritable, match=f"There is no place for sessions.*{os.strerror(refusal)}") as refused:
            session_directory(workspace, FaultyFiles("fails", range(at, 100), refusal=refusal))
        assert str(workspace) in refused.value.message
        assert str(home) in refused.value.message
        assert refused.value.hint
        assert session_directory(workspace).notice is None
        assert whole(workspace), f"at operation {at}"
        shutil.rmtree(workspace / ".agent_ls")
