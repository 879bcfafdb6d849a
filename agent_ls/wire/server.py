"""The pygls server that speaks `AgentProtocol`."""

from __future__ import annotations

import logging
from typing import Any

from pygls.lsp.server import LanguageServer

from agent_ls import __version__
from agent_ls.wire.jsonrpc import AgentProtocol

logger = logging.getLogger(__name__)


class AgentServer(LanguageServer):
    """A server whose failures go to the log: pygls shows them to the person as "Error in server: …"."""

    protocol: AgentProtocol

    def __init__(self, name: str) -> None:
        super().__init__(name, __version__, protocol_cls=AgentProtocol)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log it."""
        logger.error("pygls reports %s", getattr(source, "__name__", source), exc_info=error)
