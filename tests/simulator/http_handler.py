"""HTTP front of the simulator: parses, lets the protocol judge, plays the outcome, cuts or holds connections."""

from __future__ import annotations

import json
import select
import socket
import struct
import time
import traceback
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

from attrs import evolve

from tests.simulator.ledger import Ledger, ScriptExhausted
from tests.simulator.provider import Measured, ProviderProtocol, RenderedCall, Rendering
from tests.simulator.recorded import Exchange, RecordedRequest
from tests.simulator.refusal import Refusal, RequestRefused
from tests.simulator.replies import Failure, Interruption, Outcome, Reply, StopReason, Usage
from tests.simulator.tokens import compact_json


class _ConnectionCut(Exception):
    """The response ended before its time, as scripted or because the client went away."""


class Handler(BaseHTTPRequestHandler):
    """One connection. Bound to a ledger and the protocols by path."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an event is sent when it is there, as providers do
    ledger: ClassVar[Ledger]
    protocols: ClassVar[Mapping[str, ProviderProtocol]]

    @classmethod
    def bound_to(cls, ledger: Ledger, protocols: Mapping[str, ProviderProtocol]) -> type[Handler]:
        """A handler class for one simulator."""
        return type("BoundHandler", (cls,), {"ledger": ledger, "protocols": protocols})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Say nothing: pytest's output is not the place."""

    def do_POST(self) -> None:
        """Answer a model request."""
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        protocol = self.protocols.get(self.path.partition("?")[0])
        if protocol is None:
            self._send_json(
                404, {"error": {"message": f"Invalid URL (POST {self.path})", "type": "invalid_request_error"}}
            )
            return
        try:
            self._answer(protocol, raw)
        except (_ConnectionCut, BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _answer(self, protocol: ProviderProtocol, raw: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        measured, refusal = self._judge(protocol, headers, body)
        request = self.ledger.record(
            lambda index: RecordedRequest(
                index=index,
                protocol=protocol.name,
                headers=headers,
                body=body,
                input_tokens=measured.input_tokens,
                refusal=refusal,
            )
        )
        outcome = refusal or self._next_outcome(protocol, request)
        if isinstance(outcome, Refusal):
            self._send_json(outcome.status, outcome.body)
            return
        if isinstance(outcome, Failure):
            self.ledger.settle(Exchange(request, outcome, None))
            self._send_json(outcome.status, protocol.failure(outcome), outcome.headers)
            return
        key = headers.get("authorization") or headers.get("x-api-key", "")
        rendering = self._render(protocol, request, outcome, measured, key)
        self.ledger.settle(Exchange(request, outcome, rendering.usage))
        if request.streamed:
            self._stream(protocol, rendering)
        else:
            self._send_whole(protocol, rendering)

    def _judge(self, protocol: ProviderProtocol, headers: dict[str, str], body: Any) -> tuple[Measured, Refusal | None]:
        measured = Measured((), 0)
        try:
            protocol.authenticate(headers, self.ledger.accepted_keys)
            protocol.check(body)
            measured = protocol.measure(body)
            return measured, protocol.overflow(measured, self.ledger.window)
        except RequestRefused as refused:
            return measured, refused.refusal
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # A shape nobody thought of is the client's fault too.
            message = f"malformed request: {type(error).__name__}: {error}"
            return measured, Refusal(400, protocol.failure(Failure(400, message)), message)

    def _next_outcome(self, protocol: ProviderProtocol, request: RecordedRequest) -> Outcome | Refusal:
        try:
            return self.ledger.next_outcome(request)
        except ScriptExhausted:
            message = f"simulator: no scripted reply is left for request {request.index}"
        except Exception:  # noqa: BLE001  # a test's script: its error is reported where the test looks
            message = f"simulator: the script failed on request {request.index}\n{traceback.format_exc()}"
        refusal = Refusal(400, protocol.failure(Failure(400, message)), message)
        self.ledger.replace(evolve(request, refusal=refusal))
        return refusal

    def _render(
        self, protocol: ProviderProtocol, request: RecordedRequest, reply: Reply, measured: Measured, key: str
    ) -> Rendering:
        reply = _within_allowance(protocol, reply, measured.allowance)
        calls = tuple(
            RenderedCall(
                id=call.id or f"call_{self.ledger.new_id():06d}",
                name=call.name,
                arguments=call.arguments if isinstance(call.arguments, str) else compact_json(dict(call.arguments)),
            )
            for call in reply.tool_calls
        )
        written = [reply.full_text, reply.thinking, *(call.name + call.arguments for call in calls)]
        output = sum(protocol.count_output(text) for text in written if text)
        cached = protocol.use_cache(request.body, key, measured)
        counted = Usage(measured.input_tokens, output, cached.read, cached.write)
        stop_reason: StopReason = reply.stop_reason or ("tool" if calls else "end")
        return Rendering(
            id=f"sim-{self.ledger.new_id():06d}",
            model=request.body["model"],
            body=request.body,
            reply=reply,
            calls=calls,
            stop_reason=stop_reason,
            usage=reply.usage or counted,
        )

    def _send_whole(self, protocol: ProviderProtocol, rendering: Rendering) -> None:
        interruption = rendering.reply.interruption
        cut_body = interruption is not None and interruption.kind == "drop" and interruption.after_events > 0
        if interruption is not None and not cut_body:
            self._interrupt(protocol, interruption, began=False)
        self._send_json(200, protocol.response(rendering), cut=cut_body)

    def _stream(self, protocol: ProviderProtocol, rendering: Rendering) -> None:
        reply = rendering.reply
        interrupted_at = None if reply.interruption is None else reply.interruption.after_events
        for sent, event in enumerate(protocol.events(rendering)):
            if reply.interruption is not None and sent == interrupted_at:
                self._interrupt(protocol, reply.interruption, began=sent > 0)
            if sent == 0:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
            elif reply.seconds_between_events:
                time.sleep(reply.seconds_between_events)
            self._send_chunk(event)
        self._send_chunk(b"")

    def _interrupt(self, protocol: ProviderProtocol, interruption: Interruption, *, began: bool) -> None:
        """Do what the script wants here. Raises _ConnectionCut where the response ends."""
        match interruption.kind:
            case "drop":
                self._cut()
            case "hang":
                self._hold()
            case "error" if began:
                self._send_chunk(protocol.error_event(interruption.error_type, interruption.error_message))
                self._send_chunk(b"")
                raise _ConnectionCut
            case "error":
                status = 529 if interruption.error_type == "overloaded_error" else 500
                self._send_json(status, protocol.failure(Failure(status, interruption.error_message)))
                raise _ConnectionCut

    def _hold(self) -> None:
        """Wait until released (returns) or until the client goes away (raises)."""
        self.ledger.note_hanging()
        readable, _, _ = select.select([self.connection, self.ledger.released], [], [])
        if self.ledger.released not in readable:
            self.ledger.note_disconnect()
            raise _ConnectionCut

    def _cut(self) -> None:
        # With a linger time of zero, close() sends a reset: what a dropped connection looks like.
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        raise _ConnectionCut

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _send_json(
        self, status: int, body: Any, headers: Mapping[str, str] | None = None, *, cut: bool = False
    ) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if cut:
            self.wfile.write(raw[: len(raw) // 2])
            self._cut()
        self.wfile.write(raw)


def _within_allowance(protocol: ProviderProtocol, reply: Reply, allowance: int) -> Reply:
    """The reply as the provider cuts it: text beyond the output allowance (0: none) is never generated."""
    text = reply.full_text
    if not allowance or protocol.count_output(text) <= allowance:
        return reply
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if protocol.count_output(text[:middle]) <= allowance:
            fits = middle
        else:
            too_long = middle
    return evolve(reply, text=text[:fits], tool_calls=(), stop_reason="length")
