"""initialize, initialized, shutdown, workspace folders (LSP 3.17 "Lifecycle Messages")."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from lsprotocol import types

from agent_ls.features.host import Host
from agent_ls.features.log import log_to_client
from agent_ls.protocol import PROTOCOL_VERSION, ClientAbilities
from agent_ls.wire.converter import BadParams, structure

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 1.5
"""How long `shutdown` waits for memory write-backs; the rest is done at the next start (DESIGN §7)."""


def register(host: Host) -> None:
    """Register the lifecycle."""
    server = host.server

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        options = params.initialization_options if isinstance(params.initialization_options, dict) else {}
        host.client.abilities = _abilities(params, options)
        host.initial_settings = options.get("settings")

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        log_to_client(host.client, host.settings.current.log_level)
        if host.client.abilities.protocol_version != PROTOCOL_VERSION:
            asked = host.client.abilities.protocol_version
            host.client.log("warning", f"agent-ls speaks protocol version {PROTOCOL_VERSION}, not {asked}")
        for message in host.settings.effective.messages:
            host.client.show("warning", message)
        host.begin()

    @server.feature(types.SHUTDOWN)
    async def shutdown(params: None) -> None:
        if (sessions := host.sessions_if_made) is not None:
            await sessions.shutdown(SHUTDOWN_SECONDS)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        await (await host.sessions()).folders_changed(host.folders())


def _abilities(params: types.InitializeParams, options: Mapping[str, Any]) -> ClientAbilities:
    experimental = params.capabilities.experimental
    announced = experimental.get("agent") if isinstance(experimental, dict) else None
    try:
        return structure(options.get("agent", announced), ClientAbilities)
    except BadParams as bad:
        logger.warning("the client's agent abilities are ignored: %s", bad)
        return ClientAbilities()
