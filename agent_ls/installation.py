"""How the running agent_ls was installed, and the commands that add a package to that installation and run it.

A command that adds keeps what the installation has, so that it can be followed by one for the next package.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

OWN: Final = "agent-ls"

_REQUIREMENT: Final = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<extras>[\w, -]*)\])?$")
"""A name or a path, with extras or without."""


def how_to_add(requirement: str, prefix: Path | None = None) -> str:
    """The shell command that adds `requirement` where agent_ls runs from; `prefix` is `sys.prefix` unless given.

    A requirement is a name with extras or without; extras of agent-ls itself are `agent-ls[…]`.
    """
    prefix = Path(sys.prefix) if prefix is None else prefix
    if (prefix / "pipx_metadata.json").is_file():
        return shlex.join(_with_pipx(requirement, prefix / "pipx_metadata.json"))
    if (prefix / "uv-receipt.toml").is_file():
        return shlex.join(_with_uv_tool(requirement, prefix / "uv-receipt.toml"))
    if importlib.util.find_spec("pip") is None:
        # uv's environments have no pip.
        return shlex.join(["uv", "pip", "install", "--python", sys.executable, requirement])
    return shlex.join([sys.executable, "-m", "pip", "install", requirement])


def how_to_run(arguments: str) -> str:
    """The shell command `agent-ls ARGUMENTS`, with the program's path where a shell would find none or another one."""
    program = Path(sys.executable).with_name(OWN)
    found = shutil.which(OWN)
    if not program.is_file() or (found is not None and Path(found).resolve() == program.resolve()):
        return f"{OWN} {arguments}"
    return f"{shlex.quote(str(program))} {arguments}"


def _parts(requirement: str) -> tuple[str, list[str]]:
    found = _REQUIREMENT.match(requirement)
    extras = found["extras"] if found else None
    return (found["name"] if found else requirement), [each.strip() for each in (extras or "").split(",") if each]


def _joined(name: str, extras: Sequence[str]) -> str:
    return f"{name}[{','.join(dict.fromkeys(extras))}]" if extras else name


# --- pipx -------------------------------------------------------------------------------------------------------------


def _with_pipx(requirement: str, metadata: Path) -> Sequence[str]:
    name, extras = _parts(requirement)
    source = _pipx_source(metadata)
    if name == OWN and source is not None:
        own, there = _parts(source)
        # `inject agent-ls[…]` would make pipx forget the path, and its `reinstall` fail.
        return ["pipx", "install", "--force", _joined(own, [*there, *extras])]
    # What is there already is not injected for its extras' sake; forced, it would be made newer than agent_ls allows.
    return ["pipx", "inject", OWN, *(_packages_of(name, extras) or [requirement])]


def _pipx_source(metadata: Path) -> str | None:
    """What pipx was given, a name or a folder with its extras; None for what cannot be given with more extras."""
    try:
        source = json.loads(metadata.read_text(encoding="utf-8"))["main_package"]["package_or_url"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if not isinstance(source, str) or "://" in source:
        return None
    return source if _parts(source)[0] == OWN or Path(_parts(source)[0]).is_absolute() else None


def _packages_of(name: str, extras: Sequence[str]) -> list[str]:
    """The requirements that the installed package has for these extras, those of its nested extras included."""
    try:
        declared = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    found: list[str] = []
    for line in declared:
        needed, _, marker = line.partition(";")
        if not any(re.search(rf"extra == ['\"]{re.escape(extra)}['\"]", marker) for extra in extras):
            continue
        nested, nested_extras = _parts(needed.strip())
        found += (nested_extras and _packages_of(nested, nested_extras)) or [needed.strip()]
    return list(dict.fromkeys(found))


# --- uv tool ----------------------------------------------------------------------------------------------------------


def _with_uv_tool(requirement: str, receipt: Path) -> Sequence[str]:
    """The command anew, with all that it was given before: uv remembers only the last."""
    try:
        tool = tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]
        given = [each for each in tool["requirements"] if isinstance(each["name"], str)]
    except (OSError, ValueError, LookupError, TypeError):
        tool, given = {}, []
    name, extras = _parts(requirement)
    own = [each for each in given if each["name"] == OWN] or [{"name": OWN}]
    others = [each for each in given if each["name"] != OWN]
    all_extras = [extra for each in own for extra in each.get("extras", ())]
    command = ["uv", "tool", "install"]
    if isinstance(tool.get("python"), str):
        command += ["--python", tool["python"]]
    for each in others:
        command += _with(each)
    if name == OWN:
        all_extras += extras
    elif requirement not in command:
        command += ["--with", requirement]
    return [*command, *_source({**own[0], "extras": all_extras})]


def _with(given: Mapping[str, Any]) -> Iterator[str]:
    *editable, source = _source(given)
    return iter(["--with-editable" if editable else "--with", source])


def _source(given: Mapping[str, Any]) -> Sequence[str]:
    """A requirement of a receipt as uv's command line takes it."""
    extras = given.get("extras", ())
    if folder := given.get("editable"):
        return ["--editable", _joined(folder, extras)]
    if path := given.get("directory") or given.get("path"):
        return [_joined(path, extras)]
    name = _joined(given["name"], extras)
    if repository := given.get("git"):
        # The receipt has `…?rev=1a2b` (or tag, or branch) for the command line's `…@1a2b`.
        address, _, query = repository.partition("?")
        revision = query.partition("=")[2]
        return [f"{name} @ git+{address}{'@' if revision else ''}{revision}"]
    if address := given.get("url"):
        return [f"{name} @ {address}"]
    return [f"{name}{given.get('specifier', '')}"]
