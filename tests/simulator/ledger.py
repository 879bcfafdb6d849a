"""The simulator's memory, shared by its handler threads: script, requests, exchanges."""

from __future__ import annotations

import itertools
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable

from tests.simulator.recorded import Exchange, RecordedRequest
from tests.simulator.replies import Outcome


class ScriptExhausted(Exception):
    """No reply is left for this request."""


class Ledger:
    """Thread-safe: every change happens under one condition, which waiters are told about."""

    def __init__(
        self,
        *,
        window: int,
        script: Iterable[Outcome] | Callable[[RecordedRequest], Outcome],
        otherwise: Outcome | None,
        accepted_keys: str,
    ) -> None:
        self.window = window
        self.accepted_keys = accepted_keys
        self.released, self._release = socket.socketpair()
        """Readable once `release()` was called; handlers select on it beside their client."""
        self.hanging = 0
        self.disconnects = 0
        self._otherwise = otherwise
        self._answer = script if callable(script) else None
        self._queue: deque[Outcome] = deque(() if callable(script) else script)
        self._requests: list[RecordedRequest] = []
        self._exchanges: list[Exchange] = []
        self._ids = itertools.count(1)
        self._changed = threading.Condition()

    @property
    def requests(self) -> list[RecordedRequest]:
        with self._changed:
            return list(self._requests)

    @property
    def exchanges(self) -> list[Exchange]:
        with self._changed:
            return list(self._exchanges)

    def release(self) -> None:
        self._release.send(b"!")

    def close(self) -> None:
        self.released.close()
        self._release.close()

    def extend(self, replies: Iterable[Outcome]) -> None:
        if self._answer is not None:
            raise TypeError("this simulator answers by a function; it has no list of replies to extend")
        with self._changed:
            self._queue.extend(replies)

    def new_id(self) -> int:
        with self._changed:
            return next(self._ids)

    def record(self, make: Callable[[int], RecordedRequest]) -> RecordedRequest:
        """Append the request `make` builds from its index."""
        with self._changed:
            request = make(len(self._requests))
            self._requests.append(request)
            self._changed.notify_all()
            return request

    def replace(self, request: RecordedRequest) -> None:
        """Put a request with a later refusal in the place of the one recorded before."""
        with self._changed:
            self._requests[request.index] = request

    def next_outcome(self, request: RecordedRequest) -> Outcome:
        """The script's answer. Raises ScriptExhausted."""
        if self._answer is not None:
            return self._answer(request)
        with self._changed:
            if self._queue:
                return self._queue.popleft()
        if self._otherwise is None:
            raise ScriptExhausted
        return self._otherwise

    def settle(self, exchange: Exchange) -> None:
        with self._changed:
            self._exchanges.append(exchange)
            self._changed.notify_all()

    def note_hanging(self) -> None:
        with self._changed:
            self.hanging += 1
            self._changed.notify_all()

    def note_disconnect(self) -> None:
        with self._changed:
            self.disconnects += 1
            self._changed.notify_all()

    def wait(self, holds: Callable[[], bool], what: str, timeout: float) -> None:
        # The condition's lock is re-entrant, so `holds` may read the properties above.
        with self._changed:
            if not self._changed.wait_for(holds, timeout):
                raise TimeoutError(f"the simulator saw no {what} within {timeout:g} s")
