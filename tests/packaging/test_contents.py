"""What is in the sdist and in the wheel, against what git knows."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from agent_ls import __version__
from tests.packaging.conftest import run, tracked

pytestmark = pytest.mark.xdist_group("packaging")
RELEASE = f"agent_ls-{__version__}"


def test_the_sdist_holds_the_whole_repository(built: Path, project: Path) -> None:
    with tarfile.open(built / f"{RELEASE}.tar.gz") as archive:
        names = {member.name.removeprefix(f"{RELEASE}/") for member in archive if member.isfile()}
    assert names == tracked(project) | {"PKG-INFO"}


def test_the_wheel_holds_the_package_and_nothing_else(built: Path, project: Path) -> None:
    with zipfile.ZipFile(built / f"{RELEASE}-py3-none-any.whl") as archive:
        names = set(archive.namelist())
    described = {name for name in names if name.startswith(f"{RELEASE}.dist-info/")}
    assert names - described == tracked(project, "agent_ls")
    assert {"agent_ls/py.typed", "agent_ls/inspection/page.css"} <= names
    assert f"{RELEASE}.dist-info/licenses/LICENSE" in described


def test_the_wheel_says_what_it_needs_and_which_python(built: Path) -> None:
    with zipfile.ZipFile(built / f"{RELEASE}-py3-none-any.whl") as archive:
        metadata = Parser().parsestr(archive.read(f"{RELEASE}.dist-info/METADATA").decode())
        entry_points = archive.read(f"{RELEASE}.dist-info/entry_points.txt").decode()
    assert (metadata["Version"], metadata["Requires-Python"]) == (__version__, ">=3.11")
    assert set(metadata.get_all("Provides-Extra", [])) == {"openai", "anthropic", "google", "local", "all"}
    assert "agent-ls = agent_ls.cli.main:main" in entry_points


def test_the_package_runs_from_its_wheel(built: Path, tmp_path: Path) -> None:
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index",
        "--target", tmp_path, built / f"{RELEASE}-py3-none-any.whl", cwd=tmp_path,
    )  # fmt: skip
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import agent_ls; print(agent_ls.__file__)"
    assert run(sys.executable, "-P", "-c", program, cwd=tmp_path).strip() == str(tmp_path / "agent_ls" / "__init__.py")
    version = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from agent_ls.cli.main import main; main(['--version'])"
    )
    assert __version__ in run(sys.executable, "-P", "-c", version, cwd=tmp_path)
