"""On a server's PYTHONPATH: writes down every use of a socket, whichever library makes it (PEP 578)."""

import json
import os
import sys
from pathlib import Path

RECORD = Path(os.environ["SOCKET_RECORD"])
WATCHED = frozenset(
    {
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.sendmsg",
        "socket.sendto",
    }
)


def watch(event: str, arguments: tuple[object, ...]) -> None:
    """One line for each: the event and the address or the name it is about."""
    if event in WATCHED:
        about = arguments[:2] if event == "socket.getaddrinfo" else arguments[-1]
        note([event, about])


def note(what: list[object]) -> None:
    """Append in one write, as several processes write here."""
    with RECORD.open("ab", buffering=0) as record:
        record.write(json.dumps(what, default=str).encode() + b"\n")


note(["watching", os.getpid()])
sys.addaudithook(watch)
