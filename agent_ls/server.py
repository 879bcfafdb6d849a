"""The LSP server: what it is made of. Each family of methods is a file of `features/`."""

from __future__ import annotations

import logging
import sys
from typing import Final, NoReturn

from agent_ls.features import configuration, conversation, lifecycle, session_methods
from agent_ls.features.host import Host
from agent_ls.redaction import RedactingFormatter
from agent_ls.wire.server import AgentServer
from agent_ls.wire.stdio import serve

_EXIT_SECONDS: Final = 3.5
"""For the last job: an editor kills its server 2 to 5 s after `shutdown`, and the process takes up to 1 s more."""


def create_host() -> Host:
    """A server with every feature registered, not running yet."""
    host = Host(AgentServer("agent-ls"))
    for family in (lifecycle, configuration, conversation, session_methods):
        family.register(host)
    return host


def main() -> NoReturn:
    """Serve over stdio until the client leaves."""
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[stderr])
    # pygls logs every message, whole, at INFO: prompts and file contents do not belong in a log.
    logging.getLogger("pygls").setLevel(logging.WARNING)
    host = create_host()
    serve(host.server, host.end, exit_seconds=_EXIT_SECONDS)
