"""A repository with what git knows of this one, and what is built from it once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A test run from a git hook has GIT_DIR set, which would name this repository.
ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@localhost",
}


def run(*command: str | Path, cwd: Path, status: int = 0) -> str:
    """Both outputs of a command that ends with `status`."""
    done = subprocess.run(
        command, cwd=cwd, env=ENVIRON, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def tracked(folder: Path, *paths: str) -> set[str]:
    """The files git knows, relative to the folder."""
    return set(run("git", "ls-files", "-z", *paths, cwd=folder).split("\0")) - {""}


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git knows of this tree, as it is on disk, in a repository with one commit. Not to be changed."""
    if not (ROOT / ".git").exists():
        pytest.skip("an unpacked sdist is no repository")
    copy = tmp_path_factory.mktemp("project") / "agent_ls"
    for name in tracked(ROOT):
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    run("git", "init", "--quiet", cwd=copy)
    run("git", "add", "--all", cwd=copy)
    run("git", "commit", "--quiet", "--message", "all", cwd=copy)
    return copy


@pytest.fixture(scope="session")
def built(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel built from it."""
    output = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", output, cwd=project)
    return output
