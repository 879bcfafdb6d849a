"""The bills of materials: what comes with an installed agent_ls, and what is bundled into the .vsix."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from release_steps.command import run
from release_steps.source import Source

EXTRAS = "openai,anthropic,google,local"


@dataclass(frozen=True)
class Bill:
    """A CycloneDX document. `file`: where it lies."""

    file: Path

    def content(self) -> Mapping[str, Any]:
        """The whole document."""
        content: Mapping[str, Any] = json.loads(self.file.read_text("utf-8"))
        return content


@dataclass(frozen=True)
class PythonInstallation:
    """The wheel with every extra, installed as the tests install it. `requirements`: `name==version` lines."""

    bill: Bill
    requirements: Path


def install_python(source: Source, wheel: Path, work: Path) -> PythonInstallation:
    """Install the wheel into an environment of its own and say what is in it. Raises Refusal."""
    python = work / "runtime/bin/python"
    run(sys.executable, "-m", "venv", work / "runtime", cwd=work)
    constraints = source.root / "requirements/constraints.txt"
    quiet = ("--quiet", "--disable-pip-version-check")
    run(python, "-m", "pip", "install", *quiet, "--constraint", constraints, f"{wheel}[{EXTRAS}]", cwd=work)
    run(python, "-m", "agent_ls", "--version", cwd=work)
    frozen = run(python, "-m", "pip", "freeze", "--disable-pip-version-check", "--exclude", "agent-ls", cwd=work)
    requirements = work / "installed.txt"
    requirements.write_text(frozen, "utf-8")
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools", cwd=work)
    file = work / f"agent-ls-{source.version}.cdx.json"
    cyclonedx = ("-m", "cyclonedx_py", "environment", "--output-reproducible", "--of", "JSON", "--output-file", file)
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(source.epoch)}
    project = source.root / "pyproject.toml"
    run(sys.executable, *cyclonedx, "--pyproject", project, python, cwd=work, environ=environ)
    return PythonInstallation(Bill(file), requirements)


def bill_of_extension(source: Source, extension: Path, work: Path) -> Bill:
    """What `dependencies` of the extension bring. `extension`: a folder that is changed. Raises Refusal.

    `npm sbom --omit dev` leaves out what is needed by both kinds, so the other kind is taken away first.
    """
    run("npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", cwd=extension)
    run("npm", "pkg", "delete", "devDependencies", cwd=extension)
    content = json.loads(run("npm", "sbom", "--sbom-format", "cyclonedx", cwd=extension))
    # As CycloneDX asks of reproducible documents: neither the time nor a random number.
    content.pop("serialNumber", None)
    content["metadata"].pop("timestamp", None)
    file = work / f"agent-ls-vscode-{source.version}.cdx.json"
    file.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", "utf-8")
    return Bill(file)
