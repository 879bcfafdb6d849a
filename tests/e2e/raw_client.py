"""The client's end of the wire with nothing in between: bytes in, bytes out, against the real server process."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]
PATIENCE_SECONDS = 30.0


class RawClient:
    """A server process and its pipes. `answers` reply to the server's own requests, by method."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "-m", "agent_ls", "--stdio"),
        answers: Mapping[str, Callable[[Json], Any]] | None = None,
        home: Path | None = None,
    ) -> None:
        self.answers = dict(answers or {})
        self.messages: list[Json] = []
        self._incoming: queue.Queue[Json | None] = queue.Queue()
        self._next_id = 0
        private = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)} if home else {}
        inherited = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self.process = self.started(command, {**inherited, **private, **(environ or {})})
        self.stderr = bytearray()
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()

    def started(self, command: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """The server's process, with pipes to it."""
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environ)

    # --- sending ------------------------------------------------------------------------------------------------------

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send_body(self, body: bytes, *, length: int | None = None) -> None:
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % (len(body) if length is None else length) + body)

    def send(self, message: Any) -> None:
        self.send_body(json.dumps(message).encode())

    def start_request(self, method: str, params: Any = None) -> int:
        self._next_id += 1
        message: Json = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return self._next_id

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    # --- receiving ----------------------------------------------------------------------------------------------------

    def receive(self) -> Json:
        """The next message. Raises EOFError when the server is gone."""
        message = self._incoming.get(timeout=PATIENCE_SECONDS)
        if message is None:
            raise EOFError(self.stderr.decode("utf-8", "replace")[-2000:])
        self.messages.append(message)
        if "method" in message and "id" in message:
            self._answer(message)
        return message

    def wait_for(self, matches: Callable[[Json], bool]) -> Json:
        """The next message that matches; those before it are kept in `messages`."""
        while True:
            message = self.receive()
            if matches(message):
                return message

    def response(self, identifier: Any) -> Json:
        return self.wait_for(lambda message: "method" not in message and message.get("id") == identifier)

    def request(self, method: str, params: Any = None) -> Any:
        """A request's result. Raises AssertionError for an error response."""
        response = self.response(self.start_request(method, params))
        assert "error" not in response, response
        return response["result"]

    def error(self, method: str, params: Any = None) -> Json:
        """A request's error. Raises AssertionError for a result."""
        response = self.response(self.start_request(method, params))
        assert "error" in response, response
        error: Json = response["error"]
        return error

    def notifications(self, method: str) -> list[Json]:
        """The params of every notification of a method so far."""
        return [message["params"] for message in self.messages if message.get("method") == method]

    # --- the session's frame ------------------------------------------------------------------------------------------

    def initialize(self, workspace: Path | None, *more: Path, capabilities: Json | None = None, **options: Any) -> Json:
        """The handshake in a workspace folder, and in `more` beside it."""
        folders = [{"uri": each.as_uri(), "name": each.name} for each in (workspace, *more) if each] or None
        result: Json = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": workspace.as_uri() if workspace else None,
                "workspaceFolders": folders,
                "capabilities": capabilities or {},
                "initializationOptions": options,
            },
        )
        self.notify("initialized", {})
        return result

    def shut_down(self) -> int:
        """shutdown, exit; the process's status."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(PATIENCE_SECONDS)

    def leave(self) -> int:
        """Close the pipe to the server, as a client that died; the server's exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def _answer(self, message: Json) -> None:
        answer = self.answers.get(message["method"])
        if answer is None:
            error = {"code": -32601, "message": f"this client does not know {message['method']}"}
            self.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        else:
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": answer(message["params"])})

    def _read(self) -> None:
        for message in self.received():
            self._incoming.put(message)
        self._incoming.put(None)

    def received(self) -> Iterator[Json]:
        """Every message from the server's stdout, until it ends."""
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = None
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                assert name.lower() in (b"content-length", b"content-type"), line
                if name.lower() == b"content-length":
                    length = int(value)
            if length is None:
                return
            yield json.loads(stream.read(length))

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while chunk := os.read(self.process.stderr.fileno(), 4096):
            self.stderr += chunk
