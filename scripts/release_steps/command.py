"""Running the tools of a release."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from release_steps.source import Refusal


def run(*command: str | Path, cwd: Path, environ: Mapping[str, str] | None = None) -> str:
    """What a command prints. Raises Refusal with all it said if it fails or is not there."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Refusal(f"{words[0]} is not installed; a release needs it.") from None
    if done.returncode != 0:
        raise Refusal(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
