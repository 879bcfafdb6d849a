"""VS Code's real workbench, driven in Chromium against the real server and the strict simulator.

The steps and their assertions are in journey.test.mjs and first_use.test.mjs.
A screenshot of each step is left in artefacts/vscode.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from tests.editors.vscode.replies import reply
from tests.simulator import Simulator

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
EXTENSION = ROOT / "editors" / "vscode"
EDITORS = Path(os.environ.get("EDITORS_DIRECTORY", Path.home() / ".cache" / "agent-ls-editors"))

pytestmark = [
    pytest.mark.editors,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("vscode"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="node and npm are not installed"),
]

NPM = FileLock(Path(sys.prefix) / "npm.lock")
"""npm's folders belong to one test worker at a time. Reentrant."""


def install_packages(folder: Path) -> None:
    """What the folder's lock names, unless that is there already."""
    installed, lock = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    with NPM:
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            run("npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit", cwd=folder)


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    with NPM if command[0] == "npm" else contextlib.nullcontext():
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def vsix() -> Path:
    """The extension, packaged as it would be published."""
    install_packages(EXTENSION)
    run("npm", "run", "package", cwd=EXTENSION)
    return EXTENSION / "agent-ls.vsix"


@pytest.fixture(scope="module")
def code_server() -> Path:
    """code-server's entry point; installed once into EDITORS_DIRECTORY."""
    install_packages(HERE)
    return Path(run(HERE.parent / "install_vscode.sh", EDITORS / "code-server").splitlines()[-1])


def test_the_package_is_small(vsix: Path) -> None:
    assert vsix.stat().st_size < 1_000_000


def test_unit_tests_and_lint_of_the_extension(vsix: Path) -> None:
    run("npm", "run", "check", cwd=EXTENSION)
    run("npm", "test", cwd=EXTENSION)


@pytest.mark.parametrize(
    ("journey", "window", "refused"),
    [("journey", 8_000, []), ("first_use", 200_000, [401])],  # 401: the key it begins with
)
def test_in_the_workbench(
    journey: str, window: int, refused: list[int], vsix: Path, code_server: Path, tmp_path: Path
) -> None:
    artefacts = ROOT / "artefacts" / "vscode" / journey
    shutil.rmtree(artefacts, ignore_errors=True)
    artefacts.mkdir(parents=True)
    plan = {
        "entry": str(code_server),
        "vsix": str(vsix),
        "server": str(Path(sys.executable).parent / "agent-ls"),
        "root": str(tmp_path),
        "artefacts": str(artefacts),
    }
    with Simulator(window=window, replies=reply) as simulator:
        done = subprocess.run(
            ["node", "--test", "--test-reporter=spec", HERE / f"{journey}.test.mjs"],
            env={**os.environ, "JOURNEY": json.dumps({**plan, "environment": dict(simulator.environment)})},
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        sys.stdout.write(done.stdout)
        assert done.returncode == 0, done.stdout + done.stderr
        assert [request.refusal.status for request in simulator.refused if request.refusal] == refused
