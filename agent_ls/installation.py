"""How the running agent_ls was installed, and the command that adds a package to that installation."""

from __future__ import annotations

import shlex
import sys
import tomllib
from pathlib import Path


def how_to_add(requirement: str, prefix: Path | None = None) -> str:
    """The shell command that adds `requirement` where agent_ls runs from; `prefix` is `sys.prefix` unless given."""
    prefix = Path(sys.prefix) if prefix is None else prefix
    wanted = shlex.quote(requirement)
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx inject agent-ls {wanted}"
    receipt = prefix / "uv-receipt.toml"
    if receipt.is_file():
        return f"uv tool install --with {wanted} {shlex.quote(_installed_from(receipt))}"
    return f"{shlex.quote(sys.executable)} -m pip install {wanted}"


def _installed_from(receipt: Path) -> str:
    """What uv was given, extras and all: it installs anew, and a path is not found again by the name alone."""
    try:
        requirements = tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]["requirements"]
        own = next(each for each in requirements if each["name"] == "agent-ls")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return "agent-ls"
    source = str(own.get("path") or own.get("directory") or own.get("editable") or "agent-ls")
    extras = own.get("extras")
    return f"{source}[{','.join(extras)}]" if extras else source
