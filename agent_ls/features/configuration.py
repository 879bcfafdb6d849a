"""workspace/didChangeConfiguration and workspace/configuration, section `agentLs` (DESIGN §8).

Some editors send their settings with the notification, wrapped in the section or bare; others send none and wait to be
asked (LSP 3.17 "the pull model").
"""

from __future__ import annotations

import logging
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from agent_ls.errors import SettingsInvalid
from agent_ls.features.host import Host
from agent_ls.protocol import CONFIGURATION_SECTION
from agent_ls.wire.jsonrpc import Unanswered

logger = logging.getLogger(__name__)


def register(host: Host) -> None:
    """Register the configuration."""

    @host.server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configuration_changed(params: types.DidChangeConfigurationParams) -> None:
        settings = params.settings
        if not settings and _can_be_asked(host):
            settings = await _asked(host)
        if settings is None:
            return
        try:
            effective = host.settings.update_configuration(settings)
        except SettingsInvalid as invalid:
            host.client.show("error", invalid.message)
            return
        for warning in effective.warnings:
            host.client.log("warning", warning)
        host.settings_changed()


def _can_be_asked(host: Host) -> bool:
    workspace = host.server.client_capabilities.workspace
    return workspace is not None and bool(workspace.configuration)


async def _asked(host: Host) -> Any:
    """What the client has for our section; None if it has nothing or does not say."""
    item = types.ConfigurationItem(section=CONFIGURATION_SECTION)
    try:
        answer = await host.protocol.ask(types.WORKSPACE_CONFIGURATION, types.ConfigurationParams(items=[item]))
    except (JsonRpcException, Unanswered) as error:
        logger.warning("the client did not say its settings: %s", error)
        return None
    return answer[0] if answer else None
