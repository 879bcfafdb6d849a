"""What a script can make the simulator do with one accepted request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from attrs import field, frozen

StopReason = Literal["end", "tool", "length", "refusal"]


@frozen
class ToolCall:
    """One tool call of a reply; `id` is made up (unique per simulator) where not given."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str | None = None


@frozen
class Usage:
    """Token counts of one exchange. `input` is the whole prompt, cache reads and writes included."""

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0


@frozen
class Interruption:
    """What happens to the response after `after_events` server-sent events (0: before any byte).

    `drop` cuts the connection; `hang` sends nothing more until `Simulator.release()` or until the client goes
    away; `error` sends the provider's in-stream error event. In a response that is not streamed, `drop` cuts the body
    in half where `after_events` is not 0, `hang` comes before the first byte, `error` is an HTTP error.
    """

    kind: Literal["drop", "hang", "error"]
    after_events: int = 0
    error_type: str = "overloaded_error"
    error_message: str = "Overloaded"


@frozen
class Reply:
    """A model response. `text` as a sequence: one streamed chunk per element."""

    text: str | Sequence[str] = ""
    thinking: str = ""
    tool_calls: Sequence[ToolCall] = ()
    stop_reason: StopReason | None = None
    usage: Usage | None = None
    """Reported instead of what the simulator counted."""
    report_usage: bool = True
    """False: a provider that sends no usage at all."""
    seconds_between_events: float = 0.0
    interruption: Interruption | None = None

    @property
    def text_chunks(self) -> list[str]:
        """The text as it is streamed: given chunks, or pieces of at most 24 characters."""
        if isinstance(self.text, str):
            return [self.text[start : start + 24] for start in range(0, len(self.text), 24)]
        return [chunk for chunk in self.text if chunk]

    @property
    def full_text(self) -> str:
        """The text as one string."""
        return "".join(self.text_chunks)


@frozen
class Failure:
    """An HTTP error instead of a response; `body` None: the provider's own shape for that status."""

    status: int
    message: str | None = None
    """None: a usual one for the status."""
    code: str | None = None
    """OpenAI's `error.code`, or Anthropic's `error.type`; None: the usual one for the status."""
    body: Any = None
    headers: Mapping[str, str] = field(factory=dict)

    @property
    def sentence(self) -> str:
        """The message, or a usual one for the status."""
        return self.message or _USUAL_MESSAGES.get(self.status, "The server had an error processing your request.")


_USUAL_MESSAGES: Final[Mapping[int, str]] = {
    400: "Invalid request.",
    401: "Incorrect API key provided.",
    402: "Your credit balance is too low.",
    403: "Your key may not use this resource.",
    404: "The model does not exist or you do not have access to it.",
    413: "Request exceeds the maximum size",
    429: "Rate limit reached for requests per minute.",
    503: "The service is unavailable.",
    529: "Overloaded",
}

Outcome = Reply | Failure


def drop(after_events: int = 0, text: str = "cut off in the middle of a sentence that goes on") -> Reply:
    """A reply whose connection is cut after `after_events` events."""
    return Reply(text=text, interruption=Interruption("drop", after_events))


def hang(after_events: int = 0, text: str = "waiting for somebody to let me finish this sentence") -> Reply:
    """A reply that stops after `after_events` events until it is released or the client goes away."""
    return Reply(text=text, interruption=Interruption("hang", after_events))
