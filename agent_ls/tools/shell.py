"""`run_command`: the harness's shell in the workspace's directory, in an environment without keys.

The harness's list of forbidden commands is off: `/bin/rm` and `bash -c` get past it. What counts is the permission
asked for the exact text of each command.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_ai.workspaces import LocalWorkspaceBackend, Workspace
from pydantic_ai_harness.shell import ShellToolset

from agent_ls.tools.environment import ToolEnvironment
from agent_ls.tools.processes import command_environment

_MOST_CHARACTERS = 10 * 1024 * 1024
"""The harness must not cut: it keeps the tail only. `Overflow` cuts."""


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
    variables = {**command_environment(os.environ), **environment.children.mark}
    backend = LocalWorkspaceBackend(environment.places.root, env=variables)
    return CommandToolset(shell, Workspace(backend), lambda: environment.settings().shell_timeout_seconds)


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
        """As the wrapped toolset, never longer than the setting says."""
        longest = float(self.longest_seconds())
        asked = tool_args.get("timeout_seconds")
        seconds = longest if asked is None or asked <= 0 else min(float(asked), longest)
        arguments = tool_args | {"timeout_seconds": seconds}
        return await super().call_tool(name, arguments, replace(ctx, workspace=self.workspace), tool)
