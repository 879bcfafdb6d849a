"""The capabilities a turn gives its agent: all tools of a session (DESIGN §6)."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, Toolset
from pydantic_ai.workspaces import Workspace, WorkspaceBackend, WorkspaceRef
from pydantic_ai_harness.filesystem import FileSystem

from agent_ls.tools.environment import ToolEnvironment
from agent_ls.tools.gate import Gate
from agent_ls.tools.output import Bounds
from agent_ls.tools.places import PROTECTED_NAMES
from agent_ls.tools.plan import plan_toolset
from agent_ls.tools.recall import INSTRUCTION, recall_toolset
from agent_ls.tools.search import search_toolset
from agent_ls.tools.shell import shell_toolset

_FILE_TOOLS = ("read_file", "write_file", "edit_file", "list_directory")
_RESULT_FRAME = 300
"""Characters `read_file` may be longer than asked, so that the bound on entry never cuts what it has cut itself."""


def agent_capabilities(environment: ToolEnvironment) -> list[AbstractCapability[Any]]:
    """The session's tools, its workspace and what stands around every call, for one run.

    The workspace comes with them: run the agent with `workspace=None`. Settings and window are taken as they are now,
    so make new capabilities for each run.
    """
    bounds = Bounds.of_window(environment.window())
    files = FileSystem[Any](
        # The gate judges where a path leads, and lets a person allow what is outside the workspace.
        root_dir="/",
        read_only_patterns=[f"**/{name}" for name in PROTECTED_NAMES],
        max_read_chars=bounds.characters - _RESULT_FRAME,
        max_list_results=500,
        tools=_FILE_TOOLS,
        id="agent_ls_files",
    )
    return [
        Gate(environment),
        SessionWorkspace(environment),
        files,
        Toolset(search_toolset(environment)),
        Toolset(shell_toolset(environment)),
        Toolset(plan_toolset(environment.announce)),
        Toolset(recall_toolset(environment)),
    ]


class SessionWorkspace(AbstractCapability[Any]):
    """Gives the run the editor's documents over the disk, and says how to reach what was elided."""

    def __init__(self, environment: ToolEnvironment) -> None:
        self._environment = environment
        super().__init__()

    def get_workspace(self, ctx: RunContext[Any], *, ref: WorkspaceRef | None) -> WorkspaceBackend:
        """The session's documents, whatever workspace the history names."""
        return Workspace(self._environment.documents)

    def get_instructions(self) -> Any:
        """Nothing until something was elided (CASCADE §13)."""
        return lambda: INSTRUCTION if self._environment.anything_elided() else None
