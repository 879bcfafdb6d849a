"""Whether the commit can be released: clean tree, one version, its section in the CHANGELOG. Standard library only."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

VERSION_SOURCE = "agent_ls/__init__.py"
EXTENSION = "editors/vscode"
CHANGELOGS = ("CHANGELOG.md", f"{EXTENSION}/CHANGELOG.md")


class Refusal(Exception):
    """Why nothing is released. The message says what to do."""


@dataclass(frozen=True)
class Source:
    """A commit that can be released. `epoch` is its time in seconds since 1970, for SOURCE_DATE_EPOCH."""

    root: Path
    version: str
    commit: str
    epoch: int


def check_source(root: Path) -> Source:
    """What is released from `root`. Raises Refusal."""
    dirty = git(root, "status", "--porcelain").rstrip()
    if dirty:
        raise Refusal(f"The tree is not clean; commit these or ignore them:\n{dirty}")
    version = one_version(root)
    for changelog in CHANGELOGS:
        if not has_section((root / changelog).read_text("utf-8"), version):
            raise Refusal(f"{changelog} has no section with text for {version}; write one under '## {version}'.")
    commit = git(root, "rev-parse", "HEAD").strip()
    tagged = git(
        root,
        "tag",
        "--list",
        f"v{version}",
        "--format",
        "%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)",
    )
    if tagged.strip() not in {"", commit}:
        raise Refusal(f"v{version} is released already, from {tagged.strip()}; raise the version in {VERSION_SOURCE}.")
    return Source(root, version, commit, int(git(root, "log", "-1", "--format=%ct")))


def versions(root: Path) -> dict[str, str]:
    """Every place that states the version, and what it says. `pyproject.toml` takes it from the first."""
    stated = re.search(r'^__version__ = "(.+)"$', (root / VERSION_SOURCE).read_text("utf-8"), re.MULTILINE)
    if stated is None:
        raise Refusal(f"{VERSION_SOURCE} states no __version__.")
    manifest = json.loads((root / EXTENSION / "package.json").read_text("utf-8"))
    lock = json.loads((root / EXTENSION / "package-lock.json").read_text("utf-8"))
    return {
        VERSION_SOURCE: stated[1],
        f"{EXTENSION}/package.json": manifest["version"],
        f"{EXTENSION}/package-lock.json": lock["version"],
        f"{EXTENSION}/package-lock.json, its first package": lock["packages"][""]["version"],
    }


def one_version(root: Path) -> str:
    """The version that all places agree on. Raises Refusal."""
    stated = versions(root)
    version = stated[VERSION_SOURCE]
    if set(stated.values()) != {version}:
        places = "\n".join(f"  {place}: {value}" for place, value in stated.items())
        raise Refusal(
            f"The versions differ:\n{places}\n"
            f"In {EXTENSION}: npm version --no-git-tag-version --allow-same-version {version}"
        )
    return version


def has_section(changelog: str, version: str) -> bool:
    """Whether a heading `## VERSION`, with or without a date behind it, has text below."""
    heading = rf"^## \[?{re.escape(version)}\]?(?: [^\n]*)?\n"
    section = re.search(rf"{heading}(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return section is not None and bool(section[1].strip())


def git(root: Path, *arguments: str) -> str:
    """What git prints. Raises Refusal with git's own words."""
    done = subprocess.run(("git", *arguments), cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refusal(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def main(root: Path) -> int:
    """Says what would be released. Exit status 1: nothing can be."""
    try:
        source = check_source(root)
    except Refusal as refusal:
        print(f"No release: {refusal}", file=sys.stderr)
        return 1
    print(f"agent_ls {source.version} from {source.commit[:12]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
