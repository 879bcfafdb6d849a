"""What the server needs of a provider's protocol, whichever it is."""

from __future__ import annotations

from typing import Any, Protocol

from attrs import frozen

from tests.simulator import recorded
from tests.simulator.prompt_cache import CacheUse, Segment
from tests.simulator.refusal import Refusal
from tests.simulator.replies import Failure, Reply, StopReason, Usage


@frozen
class Measured:
    """A request counted by the simulator's tokenizer. `allowance`: output tokens it asks for, 0 if it names none."""

    segments: tuple[Segment, ...]
    allowance: int

    @property
    def input_tokens(self) -> int:
        """The whole prompt: tools, system, messages."""
        return sum(segment.tokens for segment in self.segments)


@frozen
class RenderedCall:
    """A tool call with its final id and its arguments as JSON text."""

    id: str
    name: str
    arguments: str


@frozen
class Rendering:
    """All that a protocol needs to write a reply down."""

    id: str
    model: str
    body: Any
    reply: Reply
    calls: tuple[RenderedCall, ...]
    stop_reason: StopReason
    usage: Usage


class ProviderProtocol(Protocol):
    """One provider's side of the wire."""

    name: recorded.Protocol

    def authenticate(self, headers: dict[str, str], accepted: str) -> None:
        """Raise RequestRefused for a key that does not begin with `accepted`."""

    def check(self, body: Any) -> None:
        """Raise RequestRefused for what is wrong whatever the size."""

    def measure(self, body: Any) -> Measured:
        """Count a checked request."""

    def overflow(self, measured: Measured, window: int) -> Refusal | None:
        """The refusal of a request that does not fit, or None."""

    def use_cache(self, body: Any, key: str, measured: Measured) -> CacheUse:
        """What an accepted request reads from and writes to the prompt cache."""

    def count_output(self, text: str) -> int:
        """Tokens of a piece of output."""

    def failure(self, failure: Failure) -> Any:
        """The JSON body of a scripted HTTP error."""

    def response(self, rendering: Rendering) -> Any:
        """The JSON body of a reply."""

    def events(self, rendering: Rendering) -> list[bytes]:
        """The server-sent events of a reply."""

    def error_event(self, kind: str, message: str) -> bytes:
        """A server-sent error event."""
