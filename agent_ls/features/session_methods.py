"""agent/sessions, new, resume, close, delete; agent/status; agent/memory."""

from __future__ import annotations

from agent_ls import protocol
from agent_ls.features.host import Host
from agent_ls.protocol import (
    DeleteParams,
    MemoryResult,
    ResumeParams,
    SessionEnded,
    SessionOpened,
    SessionParams,
    SessionsResult,
    StatusResult,
)


def register(host: Host) -> None:
    """Register the session methods."""

    async def sessions(params: SessionParams) -> SessionsResult:
        return await (await host.sessions()).list(params)

    async def new(params: SessionParams) -> SessionOpened:
        return await (await host.sessions()).new(params)

    async def resume(params: ResumeParams) -> SessionOpened:
        return await (await host.sessions()).resume(params)

    async def close(params: SessionParams) -> SessionEnded:
        return await (await host.sessions()).close(params)

    async def delete(params: DeleteParams) -> SessionEnded:
        return await (await host.sessions()).delete(params)

    async def status(params: SessionParams) -> StatusResult:
        return await (await host.sessions()).status(params)

    async def memory(params: SessionParams) -> MemoryResult:
        return await (await host.sessions()).memory(params)

    wire = host.protocol
    wire.serve(protocol.SESSIONS, SessionParams, sessions)
    wire.serve(protocol.NEW_SESSION, SessionParams, new)
    wire.serve(protocol.RESUME_SESSION, ResumeParams, resume)
    wire.serve(protocol.CLOSE_SESSION, SessionParams, close)
    wire.serve(protocol.DELETE_SESSION, DeleteParams, delete)
    wire.serve(protocol.STATUS, SessionParams, status)
    wire.serve(protocol.MEMORY, SessionParams, memory)
