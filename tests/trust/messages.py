"""Messages a client may send, good ones and damaged ones, and how many answers each is owed (PROTOCOL "Guarantees")."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from attrs import frozen
from pygls.uris import to_fs_path

from tests.trust.mutation import damaged_bytes, damaged_value

Json = dict[str, Any]

_SHUTDOWN_IN: Final = 400
"""After `shutdown` all is refused, so one message in so many is one."""
_WHOLE_IN: Final = 4
_BYTES_IN: Final = 4
_SETTINGS: Final[Sequence[Json]] = (
    {"compactionContextWindowTokens": 20_000},
    {"compactionEnabled": False, "compactionReserveFraction": 0.3},
    {"permissionMode": "readOnly", "logLevel": "debug"},
    {"agentLs": {"memoryMaxLines": 5, "compactionMidTurn": True}},
)
_PLACE: Final[Json] = {"line": 0, "character": 1}


def initialize(workspace: Path) -> Json:
    """The first message."""
    folders = [{"uri": workspace.as_uri(), "name": "w"}]
    return {
        "jsonrpc": "2.0",
        "id": "hello",
        "method": "initialize",
        "params": {
            "processId": None,
            "rootUri": None,
            "workspaceFolders": folders,
            "capabilities": {"workspace": {"configuration": True, "applyEdit": True}},
            "initializationOptions": {"settings": {"model": "openai:gpt-5", "memoryCompressionEnabled": False}},
        },
    }


@frozen
class Messages:
    """Messages for a server whose only folder is `workspace`; requests have ids that repeat now and then."""

    chance: random.Random
    workspace: Path
    sessions: Sequence[str] = ("latest",)
    shutdowns: bool = True
    """Whether `shutdown` is among them, after which all is refused."""

    def body(self) -> bytes:
        """One message, most often damaged. None leads out of the workspace: the server would make files there."""
        while True:
            message = self._good()
            if self.chance.randrange(_WHOLE_IN):
                message = damaged_value(self.chance, message)
            body = json.dumps(message).encode()
            if not self.chance.randrange(_BYTES_IN):
                body = damaged_bytes(self.chance, body)
            if not _leads_out(_decoded(body), self.workspace):
                return body

    def _good(self) -> Json:
        method, params = self.chance.choice(self._calls())
        rare = self.chance.randrange(_SHUTDOWN_IN // len(self._calls()))
        if method == "shutdown" and (rare or not self.shutdowns):
            method = "agent/context"
        message: Json = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if not method.startswith(("$", "textDocument/did", "workspace/did", "window/", "agent/cancel")):
            message["id"] = self.chance.choice((self.chance.randrange(10**6), f"r{self.chance.randrange(1000)}", 3))
        if not self.chance.randrange(20):
            return {"jsonrpc": "2.0", "id": self.chance.choice((1, "r")), "result": params}
        return message

    def _calls(self) -> Sequence[tuple[str, Any]]:
        session = self.chance.choice(self.sessions)
        uri = (self.workspace / "a.py").as_uri()
        number = self.chance.randrange(10**6)
        block = {"type": "text", "text": f"say {number}"}
        edit = {"range": {"start": _PLACE, "end": _PLACE}, "text": "é\n"}
        return (
            ("agent/prompt", {"prompt": f"say {number}", "whenBusy": "queue"}),
            ("agent/prompt", {"prompt": [block, {"type": "resource_link", "uri": uri, "name": "a.py"}]}),
            ("agent/prompt", {"prompt": "/context", "workDoneToken": number}),
            ("agent/steer", {"sessionId": session, "prompt": "on"}),
            ("agent/cancel", {"sessionId": session}),
            ("agent/compact", {"focus": "the end"}),
            ("agent/undoCompaction", {}),
            ("agent/context", {"textDocument": {"uri": uri}}),
            ("agent/sessions", None),
            ("agent/newSession", {}),
            ("agent/resumeSession", {"sessionId": session}),
            ("agent/closeSession", {"sessionId": session}),
            ("agent/deleteSession", {"sessionId": session}),
            ("agent/status", {}),
            ("agent/memory", {}),
            ("workspace/executeCommand", {"command": "agent.context", "arguments": [{}]}),
            ("workspace/executeCommand", {"command": "agent.prompt", "arguments": ["hi"]}),
            ("workspace/didChangeConfiguration", {"settings": self.chance.choice(_SETTINGS)}),
            ("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "p", "version": 1, "text": "x\r\ny"}}),
            ("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [edit]}),
            ("textDocument/didClose", {"textDocument": {"uri": uri}}),
            ("textDocument/hover", {"textDocument": {"uri": uri}, "position": _PLACE}),
            ("$/cancelRequest", {"id": self.chance.choice((number, 3, "r7"))}),
            ("$/setTrace", {"value": "verbose"}),
            ("window/workDoneProgress/cancel", {"token": number}),
            ("shutdown", None),
        )


class NoJson:
    """What a body that is no JSON decodes to."""


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return NoJson


def owed(bodies: Sequence[bytes]) -> Counter[str | int | None]:
    """How many responses with which id these messages are owed; the id is None where none could be read."""
    return Counter(identifier for body in bodies for identifier in _owed(_decoded(body)))


def _owed(message: Any) -> Sequence[str | int | None]:
    if not isinstance(message, dict):
        return [None]
    identifier = message.get("id")
    usable = identifier if isinstance(identifier, str | int) and not isinstance(identifier, bool) else None
    if message.get("jsonrpc") != "2.0":
        return [usable]
    method = message.get("method")
    if method is None:
        return []  # a response
    return [usable] if not isinstance(method, str) or "id" in message else []


def check_responses(sent: Sequence[bytes], received: Sequence[Mapping[str, Any]]) -> None:
    """Every request is answered once, no answer is a bug's and none tells of the server's inside."""
    responses = [message for message in received if "method" not in message]
    assert Counter(each.get("id") for each in responses) == owed(sent)
    for each in responses:
        assert ("result" in each) != ("error" in each), each
        code = each.get("error", {}).get("code")
        assert code is None or code != -32603, each
    for each in received:
        assert "Traceback" not in json.dumps(each), each
    by_session: dict[str, list[int]] = {}
    for each in received:
        if each.get("method") == "agent/update":
            by_session.setdefault(each["params"]["sessionId"], []).append(each["params"]["seq"])
    for session, sequence in by_session.items():
        assert sequence == list(range(1, len(sequence) + 1)), session


def _leads_out(message: Any, workspace: Path) -> bool:
    """Whether a string of a message names a directory that is not of the workspace."""
    rest = [message]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += [*value, *value.values()]
        elif isinstance(value, list):
            rest += value
        elif isinstance(value, str) and any(_is_outside(name, workspace) for name in _paths(value)):
            return True
    return False


def _paths(text: str) -> list[str]:
    try:
        name = to_fs_path(text)
    except ValueError:
        name = None
    return [text] if name is None else [text, name]


def _is_outside(name: str, workspace: Path) -> bool:
    try:
        path = Path(name).resolve()
        return path.is_dir() and not path.is_relative_to(workspace.parent)
    except (OSError, ValueError, RuntimeError):
        return False
