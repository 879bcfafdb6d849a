"""`run_command`: the harness's shell in the workspace's directory, in an environment without keys.

The harness's list of forbidden commands is off: `/bin/rm` and `bash -c` get past it. What counts is the permission
asked for the exact text of each command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_ai.workspaces import CommandResult, LocalWorkspaceBackend, Workspace, WorkspaceCommand
from pydantic_ai_harness.shell import ShellToolset

from agent_ls.tools.environment import ToolEnvironment
from agent_ls.tools.processes import ChildProcesses, command_environment, hide_own_environment
from agent_ls.tools.terminal_text import as_shown

_MOST_CHARACTERS = 10 * 1024 * 1024
"""The harness must not cut: it keeps the tail only. `LongOutputs` cuts."""


def shell_toolset(environment: ToolEnvironment) -> AbstractToolset[Any]:
    """The toolset with `run_command`."""
    shell = ShellToolset[Any](
        allowed_commands=(),
        denied_commands=(),
        denied_operators=(),
        default_timeout=float(environment.settings().shell_timeout_seconds),
        max_output_chars=_MOST_CHARACTERS,
        persist_cwd=False,
        allow_interactive=False,
        tools=("run_command",),
        id="agent_ls_shell",
    )
    hide_own_environment()
    backend = CommandBackend(environment.places.root, environment.children)
    return CommandToolset(shell, Workspace(backend), lambda: environment.settings().shell_timeout_seconds)


class CommandBackend(LocalWorkspaceBackend):
    """Runs commands in a directory; one that is stopped takes all it started with it, `setsid` or not."""

    def __init__(self, directory: Path, children: ChildProcesses) -> None:
        super().__init__(directory, env=command_environment(os.environ))
        self._children = children

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # the protocol's
    ) -> CommandResult:
        """As the local backend, which kills the process group on cancel, timeout and too much output."""
        mark = self._children.new_mark()
        try:
            return await super().run(command, shell=shell, env={**(env or {}), **mark}, timeout=timeout)
        except BaseException:
            self._children.kill(mark)
            raise


@dataclass
class CommandToolset(WrapperToolset[Any]):
    """Runs a toolset's commands in a workspace of their own, as the run's has only files."""

    workspace: Workspace
    longest_seconds: Callable[[], float]

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """As the wrapped toolset, which offers a command only where it can run one."""
        return await super().get_tools(replace(ctx, workspace=self.workspace))

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """As the wrapped toolset, never longer than the setting says, and with the output as a terminal shows it."""
        longest = float(self.longest_seconds())
        asked = tool_args.get("timeout_seconds")
        seconds = longest if asked is None or asked <= 0 else min(float(asked), longest)
        arguments = tool_args | {"timeout_seconds": seconds}
        result = await super().call_tool(name, arguments, replace(ctx, workspace=self.workspace), tool)
        return as_shown(result) if isinstance(result, str) else result
