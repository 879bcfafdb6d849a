"""The real server with methods that let a test ask its editor, through `LspClient`. Run as a program."""

from pathlib import Path
from typing import Any

from attrs import frozen

from agent_ls.protocol import (
    PermissionOption,
    SessionId,
    ToolCall,
    ToolCallDiff,
    ToolCallId,
)
from agent_ls.server import create_host
from agent_ls.wire.stdio import serve

OPTIONS = [
    PermissionOption("allow_once", "Allow", "allow_once"),
    PermissionOption("reject_once", "Reject", "reject_once"),
]


@frozen
class AskParams:
    """Params of test/ask."""

    lines: int = 1


@frozen
class EditParams:
    """Params of test/edit: the text of the open document becomes another."""

    path: str
    new_text: str
    stale: bool = False


@frozen
class PathParams:
    """Params of test/text."""

    path: str


host = create_host()


async def ask(params: AskParams) -> Any:
    diff = ToolCallDiff("/w/a.py", "old\n" * params.lines, "new\n" * params.lines)
    call = ToolCall(ToolCallId("c"), "Edit a.py", "edit", "pending", {}, [], [diff])
    return await host.client.request_permission(SessionId("s"), call, OPTIONS)


async def edit(params: EditParams) -> Any:
    document = host.client.open_documents()[Path(params.path)]
    if params.stale:
        document = type(document)(document.path, document.uri, document.text + "typed", document.version)
    outcome = await host.client.apply_edit(document, params.new_text, "an edit")
    return {"applied": outcome.applied, "reason": outcome.reason}


async def text(params: PathParams) -> Any:
    document = host.client.open_documents().get(Path(params.path))
    return None if document is None else {"text": document.text, "version": document.version}


async def setting(params: PathParams) -> Any:
    return {"value": getattr(host.settings.current, params.path)}


if __name__ == "__main__":
    host.protocol.serve("test/ask", AskParams, ask)
    host.protocol.serve("test/edit", EditParams, edit)
    host.protocol.serve("test/text", PathParams, text)
    host.protocol.serve("test/setting", PathParams, setting)
    serve(host.server, host.end, exit_seconds=1.0)
