"""agent/prompt, agent/steer, agent/cancel, agent/compact, agent/undoCompaction, agent/context."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

from lsprotocol import types

from agent_ls import protocol
from agent_ls.cancellation import cancel_once, despite_cancel
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
from agent_ls.wire.converter import BadParams


def register(host: Host) -> None:
    """Register the conversation's methods."""

    async def prompt(params: PromptParams) -> PromptResult:
        async with _progress(host, params.work_done_token, "Agent"):
            # Neovim never calls back for -32800, so a cancelled prompt answers with a result, however early it was.
            if (made := host.sessions_if_made) is not None:
                sessions, cancelled = made, False
            else:
                sessions, cancelled = await despite_cancel(host.sessions())
            from agent_ls.prompt_content import ImageNotDecodable  # with pydantic-ai, so not before it is needed

            try:
                return await sessions.prompt(params, cancelled=cancelled)
            except ImageNotDecodable as bad:
                raise BadParams([f"$.{bad}"]) from bad

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

    def cancelled(future: Future[Any]) -> None:
        if task is not None and future.cancelled():
            cancel_once(task)

    progress.tokens[token].add_done_callback(cancelled)
    try:
        yield
    finally:
        progress.end(token, types.WorkDoneProgressEnd())
        progress.tokens.pop(token, None)
