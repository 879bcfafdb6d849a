"""`agent-ls doctor`: what is in force and where it came from, and what is missing. It changes nothing."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen

from agent_ls import __version__
from agent_ls.cli.stored_sessions import add_workspace, workspace_of
from agent_ls.errors import ModelUnavailable
from agent_ls.log.catalog import list_sessions
from agent_ls.log.directory import find_session_directory
from agent_ls.memory.clip import Caps, line_bytes
from agent_ls.memory.store import MemoryStore
from agent_ls.protocol import EffectiveSetting
from agent_ls.settings import DEFAULT_CONTEXT_WINDOW_TOKENS, Effective, LiveSettings, Settings, user_config_file
from agent_ls.settings.published import effective_settings

_PACKAGES: Final = (
    "pydantic-ai-slim",
    "pydantic-ai-harness",
    "pygls",
    "anthropic",
    "openai",
    "google-genai",
    "xllamacpp",
)


@frozen
class Model:
    """The model a turn would use now. `message` says what to do where it is not available."""

    name: str
    available: bool
    window: int | None
    message: str


@frozen
class Report:
    """What doctor found. Holds no secret: keys are never looked at, only whether a model can be built."""

    version: str
    python: str
    packages: dict[str, str]
    user_file: str
    user_file_exists: bool
    settings: Sequence[EffectiveSetting]
    problems: Sequence[str]
    model: Model
    workspace: str
    session_directory: str | None
    sessions: int
    memory: str

    @property
    def is_well(self) -> bool:
        """Whether a prompt would be answered with the settings as they were meant."""
        return self.model.available and not self.problems


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--workspace DIR` and `--json`."""
    add_workspace(parser)
    parser.add_argument("--json", action="store_true", help="as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the report; exit status 0 if a prompt would be answered, else 1."""
    report = examine(LiveSettings.of_this_process().effective, workspace_of(arguments))
    print(json.dumps(asdict(report), indent=2, ensure_ascii=False) if arguments.json else as_text(report))
    return 0 if report.is_well else 1


def examine(effective: Effective, workspace: Path) -> Report:
    """Look at everything, change nothing, send nothing."""
    directory = find_session_directory(workspace)
    return Report(
        version=__version__,
        python=f"{platform.python_version()} on {platform.platform(terse=True)}",
        packages={name: found for name in _PACKAGES if (found := _version(name))},
        user_file=str(user_config_file()),
        user_file_exists=user_config_file().exists(),
        settings=effective_settings(effective),
        problems=effective.messages,
        model=_model(effective.settings),
        workspace=str(workspace),
        session_directory=str(directory.sessions) if directory else None,
        sessions=len(list_sessions(directory.sessions)) if directory else 0,
        memory=_memory(MemoryStore(directory.root, Caps.of(effective.settings))) if directory else "none yet",
    )


def as_text(report: Report) -> str:
    """The report for a person."""
    lines = [
        f"agent-ls {report.version}, Python {report.python}",
        f"packages: {', '.join(f'{name} {found}' for name, found in report.packages.items())}",
        "",
        f"model: {report.model.name}: {'ready' if report.model.available else 'NOT AVAILABLE'}",
        f"  {report.model.message}",
        "",
        f"your settings file: {report.user_file}{'' if report.user_file_exists else ' (not there, which is fine)'}",
        "settings in force:",
    ]
    width = max(len(setting.name) for setting in report.settings)
    lines += [f"  {each.name:<{width}}  {_shown(each.value):<14} {each.source}" for each in report.settings]
    if report.problems:
        lines += ["", "problems:", *(f"  - {problem}" for problem in report.problems)]
    where = report.session_directory or "none yet; they will be in .agent_ls/sessions"
    lines += ["", f"workspace: {report.workspace}", f"session logs: {where}"]
    if report.session_directory:
        lines.append(f"sessions: {report.sessions}")
    lines.append(f"memory: {report.memory}")
    return "\n".join(lines)


def _model(settings: Settings) -> Model:
    # pydantic_ai and a provider's SDK take seconds to import: only once the rest is known to work.
    from agent_ls.models import default_model_name, resolve_model
    from agent_ls.models.registry import LOCAL, about_its_key

    name = settings.model or "(none set)"
    try:
        name = settings.model or default_model_name(os.environ)
        model = resolve_model(name, window=settings.compaction_context_window_tokens)
    except ModelUnavailable as error:
        return Model(name, False, None, " ".join(part for part in (error.message, error.hint) if part))
    known = model.window or DEFAULT_CONTEXT_WINDOW_TOKENS
    window = settings.compaction_context_window_tokens or min(DEFAULT_CONTEXT_WINDOW_TOKENS, known)
    remarks = [f"Window {window:,} tokens."]
    if settings.model is None:
        remarks.append("Chosen because no model is set.")
    if name == LOCAL:
        remarks.append("It can talk and summarise a little; it cannot use tools or code.")
    else:
        remarks.append(about_its_key(name))
    return Model(name, True, window, " ".join(remarks))


def _memory(store: MemoryStore) -> str:
    try:
        file = store.read()
    except OSError as error:
        return str(error)
    if not file.lines:
        return "none yet"
    size = sum(map(line_bytes, file.lines))
    caps = store.caps
    return f"{store.path}, {len(file.lines)} of {caps.max_lines} lines, {size:,} of {caps.max_bytes:,} bytes"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    return str(value).lower() if isinstance(value, bool) else str(value)
