"""The simulator: an HTTP server on the loopback that plays a script and refuses what real providers refuse."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.simulator.anthropic_messages import AnthropicMessages
from tests.simulator.http_handler import Handler
from tests.simulator.ledger import Ledger
from tests.simulator.openai_chat import OpenAIChat
from tests.simulator.provider import ProviderProtocol
from tests.simulator.recorded import Exchange, RecordedRequest
from tests.simulator.replies import Outcome

Script = Iterable[Outcome] | Callable[[RecordedRequest], Outcome]

API_KEY = "sk-sim-0123456789"


class _Server(ThreadingHTTPServer):
    """Ends its kept-alive connections when it is closed, and with them its threads."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], handler: type[Handler]) -> None:
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that was killed is nothing to report.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        with self._lock, contextlib.suppress(OSError):
            for connection in self._open:
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()


class Simulator:
    """Both providers behind one port. Use as a context manager.

    `window`: tokens; requests beyond it are refused as the provider words it. `replies`: what to answer, in order,
    or a function of the request; a refused request uses up no reply, an exhausted script refuses (HTTP 400, listed in
    `refused`). `accepted_keys`: API keys must begin with this. `otherwise`: the answer once `replies` are used up.
    """

    def __init__(
        self,
        *,
        window: int = 200_000,
        replies: Script = (),
        otherwise: Outcome | None = None,
        accepted_keys: str = "sk-sim",
        port: int = 0,
    ) -> None:
        self._ledger = Ledger(window=window, script=replies, otherwise=otherwise, accepted_keys=accepted_keys)
        protocols: dict[str, ProviderProtocol] = {
            "/v1/chat/completions": OpenAIChat(),
            "/v1/messages": AnthropicMessages(),
        }
        self._server = _Server(("127.0.0.1", port), Handler.bound_to(self._ledger, protocols))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._ledger.close()

    @property
    def port(self) -> int:
        """The loopback port."""
        return self._server.server_port

    @property
    def openai_base_url(self) -> str:
        """For OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_base_url(self) -> str:
        """For ANTHROPIC_BASE_URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a server process needs in its environment to reach the simulator under both protocols."""
        return {
            "OPENAI_API_KEY": API_KEY,
            "OPENAI_BASE_URL": self.openai_base_url,
            "ANTHROPIC_API_KEY": API_KEY,
            "ANTHROPIC_BASE_URL": self.anthropic_base_url,
            "NO_PROXY": "127.0.0.1",
        }

    @property
    def window(self) -> int:
        """Tokens the simulated models take. May be changed between requests."""
        return self._ledger.window

    @window.setter
    def window(self, tokens: int) -> None:
        self._ledger.window = tokens

    @property
    def requests(self) -> list[RecordedRequest]:
        """Every request so far, refused ones included."""
        return self._ledger.requests

    @property
    def refused(self) -> list[RecordedRequest]:
        """The requests a real provider would have refused, plus those the script had no reply for."""
        return [request for request in self.requests if request.refused]

    @property
    def exchanges(self) -> list[Exchange]:
        """Accepted requests with what was answered and billed."""
        return self._ledger.exchanges

    def play(self, *replies: Outcome) -> None:
        """Append replies to the script. Raises TypeError if the script is a function."""
        self._ledger.extend(replies)

    def release(self) -> None:
        """Let every response that hangs now, or will, go on."""
        self._ledger.release()

    def wait_for_requests(self, count: int, timeout: float = 20.0) -> None:
        """Block until `count` requests have arrived. Raises TimeoutError."""
        self._ledger.wait(lambda: len(self.requests) >= count, f"{count} requests", timeout)

    def wait_until_hanging(self, count: int = 1, timeout: float = 20.0) -> None:
        """Block until `count` responses hang. Raises TimeoutError."""
        self._ledger.wait(lambda: self._ledger.hanging >= count, f"{count} hanging responses", timeout)

    def wait_for_disconnects(self, count: int = 1, timeout: float = 20.0) -> None:
        """Block until `count` clients went away from a hanging response. Raises TimeoutError."""
        self._ledger.wait(lambda: self._ledger.disconnects >= count, f"{count} disconnects", timeout)
