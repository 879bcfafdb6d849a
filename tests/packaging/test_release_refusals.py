"""`scripts/release` on a clone: what keeps a commit from being released."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent_ls import __version__
from tests.packaging.conftest import ROOT, run

pytestmark = pytest.mark.xdist_group("packaging")


@pytest.fixture
def releasable(project: Path, tmp_path: Path) -> Path:
    """A clone of its own whose CHANGELOG has the version's section."""
    clone = tmp_path / "agent_ls"
    shutil.copytree(project, clone)
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(changelog.read_text("utf-8") + f"\n## {__version__} - 2030-01-31\n\n- A change.\n", "utf-8")
    commit(clone)
    return clone


def commit(clone: Path) -> None:
    run("git", "commit", "--quiet", "--all", "--message", "a change", cwd=clone)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def release(clone: Path, status: int) -> str:
    return run("bash", "scripts/release", "--check-only", cwd=clone, status=status)


def test_a_clean_commit_with_one_version_and_its_changes_passes(releasable: Path) -> None:
    head = run("git", "rev-parse", "HEAD", cwd=releasable)
    assert release(releasable, 0) == f"agent_ls {__version__} from {head[:12]}\n"


@pytest.mark.parametrize("name", ["README.md", "a_new_file.py"])
def test_a_tree_that_is_not_clean_is_refused(releasable: Path, name: str) -> None:
    with (releasable / name).open("a", encoding="utf-8") as file:
        file.write("# more\n")
    said = release(releasable, 1)
    assert "not clean" in said
    assert name in said


@pytest.mark.parametrize("changelog", ["CHANGELOG.md", "editors/vscode/CHANGELOG.md"])
@pytest.mark.parametrize("heading", ["## Unreleased", "## 9.9.9\n\nAnother.\n\n## {version}\n\n"])
def test_a_changelog_without_words_on_the_version_is_refused(releasable: Path, changelog: str, heading: str) -> None:
    (releasable / changelog).write_text("# Changes\n\n" + heading.format(version=__version__) + "\n", "utf-8")
    commit(releasable)
    assert f"{changelog} has no section with text for {__version__}" in release(releasable, 1)


@pytest.mark.parametrize(
    "place", ["agent_ls/__init__.py", "editors/vscode/package.json", "editors/vscode/package-lock.json"]
)
def test_versions_that_differ_are_refused(releasable: Path, place: str) -> None:
    replace(releasable / place, f'"{__version__}"', '"9.9.9"')
    commit(releasable)
    said = release(releasable, 1)
    assert "The versions differ" in said
    assert f"{place}: 9.9.9" in said


def test_a_version_released_from_another_commit_is_refused(releasable: Path) -> None:
    run("git", "tag", "--annotate", "--message", "released", f"v{__version__}", cwd=releasable)
    release(releasable, 0)
    replace(releasable / "README.md", "# agent_ls", "# agent_ls!")
    commit(releasable)
    assert f"v{__version__} is released already" in release(releasable, 1)


def test_the_project_states_one_version() -> None:
    program = "from pathlib import Path; from release_steps.source import one_version; print(one_version(Path('.')))"
    assert run("env", "PYTHONPATH=scripts", "python3", "-c", program, cwd=ROOT).strip() == __version__


def test_an_unknown_option_shows_the_usage(releasable: Path) -> None:
    said = run("bash", "scripts/release", "--publish", cwd=releasable, status=2)
    assert said.startswith("Checks the commit and makes dist/")
    assert "--require-audit" in said
