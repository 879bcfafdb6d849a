"""The log, where the person of this editor looks for it: `window/logMessage` (PROTOCOL "Notifications").

stderr keeps what is said before `initialized`, errors with their tracebacks, and what the wire itself has to say: to
send that could make the wire say more.
"""

from __future__ import annotations

import logging
from typing import Final, Literal

from agent_ls.client import Client
from agent_ls.redaction import redacted

_LOGGER: Final = "agent_ls"
_WIRE: Final = "agent_ls.wire"

Level = Literal["error", "warning", "info", "debug"]


class ClientLogHandler(logging.Handler):
    """Sends records to the client."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record, its cause in one line; the traceback is for stderr."""
        if _is_of_the_wire(record):
            return
        message = record.getMessage()
        cause = record.exc_info[1] if record.exc_info else None
        if cause is not None:
            message = f"{message}: {type(cause).__name__}: {cause}"
        self._client.log(level_of(record.levelno), redacted(f"{record.name}: {message}"))


def level_of(number: int) -> Level:
    """The LSP message type of a level of `logging`."""
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warning"
    return "info" if number >= logging.INFO else "debug"


def log_to_client(client: Client, level: str) -> None:
    """From now on the client gets the log, from `level` on."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(lambda record: record.levelno >= logging.ERROR or _is_of_the_wire(record))
    logging.getLogger(_LOGGER).addHandler(ClientLogHandler(client))
    set_level(level)


def _is_of_the_wire(record: logging.LogRecord) -> bool:
    return record.name.startswith(_WIRE)


def set_level(level: str) -> None:
    """Follow the setting `log_level`."""
    logging.getLogger(_LOGGER).setLevel(level.upper())
