"""A running `agent-ls` and the client's end of its wire: what `chat` and `demo` talk through, as an editor would."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from pygls.client import JsonRPCClient
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.io_ import run_async
from pygls.protocol import JsonRPCProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage

from agent_ls import __version__, protocol
from agent_ls.protocol import PROTOCOL_VERSION

_logger = logging.getLogger(__name__)

Json = Mapping[str, Any]

_LONGEST_LINE: Final = 1 << 26
_SECONDS_TO_LEAVE: Final = 10


class AgentProcessEnded(ConnectionError):
    """The server is gone; its exit status is in the message."""


class Listener(Protocol):
    """What a client does with what the server says. Params are plain JSON values in the wire's camelCase."""

    def on_update(self, update: Json) -> None:
        """`agent/update`, its `update`."""

    def on_gauge(self, gauge: Json) -> None:
        """`agent/gauge`."""

    def on_compaction(self, event: Json) -> None:
        """`agent/compaction`."""

    def on_message(self, message: str) -> None:
        """`window/showMessage`."""

    async def on_permission(self, request: Json) -> Json:
        """`agent/requestPermission`; returns the `outcome`."""


class _PlainProtocol(JsonRPCProtocol):
    """Params and results stay JSON values: pygls would make named tuples of them and lose keys."""

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        return data

    def handle_message(self, message: Any) -> None:
        match message:
            case {"method": "$/cancelRequest", "params": {"id": identifier}}:
                # One for a question that has just been answered comes too late, and is no fault.
                if (asked := self._request_futures.pop(identifier, None)) is not None:
                    asked.cancel()
            case {"method": method, "id": identifier}:
                super().handle_message(JsonRPCRequestMessage(identifier, method, "2.0", message.get("params")))
            case {"method": method}:
                super().handle_message(JsonRPCNotification(method, "2.0", message.get("params")))
            case {"error": {"code": code, "message": text, **rest}, "id": identifier}:
                self._fail(identifier, JsonRpcException(text, code, rest.get("data")))
            case {"id": identifier}:
                super().handle_message(JsonRPCResponseMessage(identifier, "2.0", message.get("result")))
            case _:
                _logger.warning("the server sent what is no message: %r", message)

    def _fail(self, identifier: Any, error: JsonRpcException) -> None:
        if (future := self._request_futures.pop(identifier, None)) is not None:
            future.set_exception(error)


class _Client(JsonRPCClient):
    def __init__(self) -> None:
        super().__init__(protocol_cls=_PlainProtocol)

    def report_server_error(self, error: Exception, source: type[PyglsError] | type[JsonRpcException]) -> None:
        _logger.warning("%s: %s", source.__name__, error)


class AgentProcess:
    """A server as a child process, initialized for one workspace folder."""

    def __init__(self, process: asyncio.subprocess.Process, client: _Client) -> None:
        """Use `start`."""
        self._process = process
        self._client = client

    @classmethod
    async def start(
        cls,
        workspace: Path,
        listener: Listener,
        *,
        settings: Json | None = None,
        environ: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> AgentProcess:
        """Start the server and shake hands. Its own log goes to the file `log`, nowhere if None.

        `environ` is its whole environment, by default this process's. Raises AgentProcessEnded, JsonRpcException.
        """
        stderr = log.open("ab") if log is not None else None
        try:
            process = await asyncio.create_subprocess_exec(
                # -P: modules are not to be imported from the folder the person works in.
                *(sys.executable, "-P", "-m", "agent_ls", "--stdio"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr if stderr is not None else asyncio.subprocess.DEVNULL,
                env=environ,
                limit=_LONGEST_LINE,
                # Ctrl-C is this process's to handle: it stops a turn, not the server.
                start_new_session=True,
            )
        finally:
            if stderr is not None:
                stderr.close()
        if process.stdin is None or process.stdout is None:
            raise AgentProcessEnded("the server was started without pipes")
        client = _Client()
        _listen(client, listener)
        client.protocol.set_writer(process.stdin)
        agent = cls(process, client)
        agent._reading = asyncio.create_task(
            run_async(
                stop_event=client._stop_event,
                reader=process.stdout,
                protocol=client.protocol,
                logger=_logger,
                error_handler=client.report_server_error,
            )
        )
        agent._watching = asyncio.create_task(agent._watch())
        try:
            await agent._initialize(workspace, settings or {})
        except BaseException:
            await agent.kill_and_wait()
            raise
        return agent

    _reading: asyncio.Task[None]
    _watching: asyncio.Task[None]

    async def request(self, method: str, params: Json) -> Any:
        """Send a request and wait for its result. Raises JsonRpcException, AgentProcessEnded."""
        if self._process.returncode is not None:
            raise AgentProcessEnded(f"the server ended with status {self._process.returncode}")
        return await self._client.protocol.send_request_async(method, dict(params))

    def cancel_turn(self, session_id: str) -> None:
        """Stop what runs in the session."""
        self._client.protocol.notify(protocol.CANCEL, {"sessionId": session_id})

    async def stop(self) -> None:
        """Shut the server down as an editor does."""
        try:
            await asyncio.wait_for(self.request("shutdown", {}), _SECONDS_TO_LEAVE)
            self._client.protocol.notify("exit", None)
            await asyncio.wait_for(self._process.wait(), _SECONDS_TO_LEAVE)
        except (TimeoutError, ConnectionError):
            self.kill()
            await self._process.wait()
        await self._cleanup()

    async def kill_and_wait(self) -> None:
        """End the server at once, as a crash would."""
        self.kill()
        await self._process.wait()
        await self._cleanup()

    def kill(self) -> None:
        """SIGKILL."""
        if self._process.returncode is None:
            self._process.kill()

    async def _initialize(self, workspace: Path, settings: Json) -> None:
        await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "agent-ls", "version": __version__},
                "rootUri": workspace.as_uri(),
                "workspaceFolders": [{"uri": workspace.as_uri(), "name": workspace.name}],
                "capabilities": {},
                "initializationOptions": {
                    "agent": {"protocolVersion": PROTOCOL_VERSION, "permission": True},
                    "settings": dict(settings),
                },
            },
        )
        self._client.protocol.notify("initialized", {})

    async def _watch(self) -> None:
        status = await self._process.wait()
        for future in list(self._client.protocol._request_futures.values()):
            if not future.done():
                future.set_exception(AgentProcessEnded(f"the server ended with status {status}"))

    async def _cleanup(self) -> None:
        await asyncio.wait({self._watching})
        self._reading.cancel()
        await asyncio.wait({self._reading})


def _listen(client: _Client, listener: Listener) -> None:
    def notification(method: str, call: Callable[[Any], None]) -> None:
        client.feature(method)(lambda params: call(params))

    notification(protocol.UPDATE, lambda params: listener.on_update(params["update"]))
    notification(protocol.GAUGE, listener.on_gauge)
    notification(protocol.COMPACTION, listener.on_compaction)
    notification("window/showMessage", lambda params: listener.on_message(params["message"]))
    notification("window/logMessage", lambda params: None)

    async def permission(params: Json) -> Json:
        return {"outcome": await listener.on_permission(params)}

    client.feature(protocol.REQUEST_PERMISSION)(permission)
