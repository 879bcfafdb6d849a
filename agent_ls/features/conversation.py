"""agent/prompt, agent/steer, agent/cancel, agent/compact, agent/undoCompaction, agent/context."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lsprotocol import types

from agent_ls import protocol
from agent_ls.features.host import Host
from agent_ls.protocol import (
    CancelParams,
    CompactParams,
    CompactResult,
    ContextResult,
    PromptParams,
    PromptResult,
    SessionParams,
    SteerParams,
    SteerResult,
    UndoResult,
)


def register(host: Host) -> None:
    """Register the conversation's methods."""

    async def prompt(params: PromptParams) -> PromptResult:
        async with _progress(host, params.work_done_token, "Agent"):
            return await (await host.sessions()).prompt(params)

    async def compact(params: CompactParams) -> CompactResult:
        async with _progress(host, params.work_done_token, "Compacting"):
            return await (await host.sessions()).compact(params)

    async def undo_compaction(params: SessionParams) -> UndoResult:
        return await (await host.sessions()).undo_compaction(params)

    async def steer(params: SteerParams) -> SteerResult:
        return (await host.sessions()).steer(params)

    async def context(params: SessionParams) -> ContextResult:
        return await (await host.sessions()).context(params)

    async def cancel(params: CancelParams) -> None:
        (await host.sessions()).cancel(params.session_id)

    wire = host.protocol
    wire.serve(protocol.PROMPT, PromptParams, prompt)
    wire.serve(protocol.COMPACT, CompactParams, compact)
    wire.serve(protocol.UNDO_COMPACTION, SessionParams, undo_compaction)
    wire.serve(protocol.STEER, SteerParams, steer)
    wire.serve(protocol.CONTEXT, SessionParams, context)
    wire.serve_notification(protocol.CANCEL, CancelParams, cancel)


@asynccontextmanager
async def _progress(host: Host, token: int | str | None, title: str) -> AsyncIterator[None]:
    """`$/progress` with the client's own token; cancelling it there cancels the request (LSP 3.17)."""
    if token is None:
        yield
        return
    progress = host.server.work_done_progress
    progress.begin(token, types.WorkDoneProgressBegin(title=title, cancellable=True))
    task = asyncio.current_task()
    if task is not None:
        progress.tokens[token].add_done_callback(lambda future: future.cancelled() and task.cancel())
    try:
        yield
    finally:
        progress.end(token, types.WorkDoneProgressEnd())
        progress.tokens.pop(token, None)
