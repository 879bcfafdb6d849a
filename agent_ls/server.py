"""The LSP server: what it is made of. Each family of methods is a file of `features/`."""

from __future__ import annotations

import logging
import sys
from typing import Final

from pygls.lsp.server import LanguageServer

from agent_ls import __version__
from agent_ls.features import configuration, conversation, lifecycle, session_methods
from agent_ls.features.host import Host
from agent_ls.wire.jsonrpc import AgentProtocol
from agent_ls.wire.stdio import leave, run

_EXIT_SECONDS: Final = 4.0
"""An editor kills its server 2 to 5 s after `shutdown`; with the final flush the process ends within 5 s."""


def create_host() -> Host:
    """A server with every feature registered, not running yet."""
    server = LanguageServer("agent-ls", __version__, protocol_cls=AgentProtocol)
    protocol = server.protocol
    if not isinstance(protocol, AgentProtocol):
        raise TypeError("pygls made another protocol than the one it was given")
    host = Host(server, protocol)
    for family in (lifecycle, configuration, conversation, session_methods):
        family.register(host)
    return host


def main() -> None:
    """Serve over stdio until the client leaves. Never returns."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # pygls logs every message, whole, at INFO: prompts and file contents do not belong in a log.
    logging.getLogger("pygls").setLevel(logging.WARNING)
    host = create_host()
    leave(run(host.server, host.protocol, host.end, exit_seconds=_EXIT_SECONDS))
