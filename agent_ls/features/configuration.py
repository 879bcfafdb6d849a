"""workspace/didChangeConfiguration, section `agentLs` (DESIGN §8)."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.errors import SettingsInvalid
from agent_ls.features.host import Host


def register(host: Host) -> None:
    """Register the configuration."""

    @host.server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration_changed(params: types.DidChangeConfigurationParams) -> None:
        try:
            effective = host.settings.update_configuration(params.settings)
        except SettingsInvalid as invalid:
            host.client.show("error", invalid.message)
            return
        for warning in effective.warnings:
            host.client.log("warning", warning)
        if (sessions := host.sessions_if_made) is not None:
            sessions.settings_changed()
