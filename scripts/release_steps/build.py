"""Wheel, sdist and .vsix of a commit, each made twice: what differs between two builds cannot be checked by others."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from release_steps.command import run
from release_steps.source import EXTENSION, Refusal, Source

VSIX = "agent-ls.vsix"


def build(source: Source, work: Path) -> list[Path]:
    """The wheel, the sdist and the .vsix, in folders under `work`. Raises Refusal where two builds differ."""
    first, second = (_build_once(source, work / name) for name in ("first", "second"))
    differing = [one.name for one, other in zip(first, second, strict=True) if one.read_bytes() != other.read_bytes()]
    if differing:
        raise Refusal(f"Two builds of {source.commit[:12]} differ in {', '.join(differing)}; compare them in {work}.")
    run(sys.executable, "-m", "twine", "check", "--strict", *first[:2], cwd=work)
    return first


def check_out(source: Source, folder: Path) -> Path:
    """The commit's files and nothing of the working tree, as a repository: the sdist asks git what belongs to it."""
    run("git", "clone", "--quiet", "--no-local", source.root, folder, cwd=source.root)
    run("git", "checkout", "--quiet", "--detach", source.commit, cwd=folder)
    return folder


def _build_once(source: Source, work: Path) -> list[Path]:
    tree = check_out(source, work / "source")
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(source.epoch), "TZ": "UTC"}
    output = work / "built"
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", output, cwd=tree, environ=environ)
    extension = tree / EXTENSION
    run("npm", "ci", "--no-audit", "--no-fund", cwd=extension, environ=environ)
    run("npm", "run", "package", cwd=extension, environ=environ)
    vsix = output / f"agent-ls-{source.version}.vsix"
    shutil.copyfile(extension / VSIX, vsix)
    return [*sorted(output.glob("*.whl")), *sorted(output.glob("*.tar.gz")), vsix]
