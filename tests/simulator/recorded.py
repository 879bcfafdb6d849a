"""What the simulator remembers of each request, for assertions and for adding up what a session costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from attrs import frozen

from tests.simulator.refusal import Refusal
from tests.simulator.replies import Outcome, Usage
from tests.simulator.tokens import compact_json

Protocol = Literal["openai", "anthropic"]


@frozen
class RecordedRequest:
    """One request as it arrived. `input_tokens` is the simulator's own count (0 if it could not be counted)."""

    index: int
    protocol: Protocol
    headers: Mapping[str, str]
    body: Any
    input_tokens: int
    refusal: Refusal | None

    @property
    def refused(self) -> bool:
        """Whether the provider would have answered with an error because of the request itself."""
        return self.refusal is not None

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The `messages` of the body, or nothing if there are none."""
        found = self.body.get("messages") if isinstance(self.body, dict) else None
        return found if isinstance(found, list) else []

    @property
    def streamed(self) -> bool:
        """Whether the client asked for server-sent events."""
        return isinstance(self.body, dict) and bool(self.body.get("stream"))

    @property
    def tool_names(self) -> list[str]:
        """Names of the tools offered."""
        tools = self.body.get("tools") or [] if isinstance(self.body, dict) else []
        return [tool.get("function", tool).get("name", "") for tool in tools]

    @property
    def json(self) -> str:
        """The whole body as compact JSON. To look for text use `text`: JSON escapes quotes and line ends."""
        return compact_json(self.body)

    @property
    def text(self) -> str:
        """Every string of system prompt and messages, one per line: what the model gets to read."""
        return "\n".join(_strings([self.body.get("system"), self.messages] if isinstance(self.body, dict) else []))

    @property
    def last_user_text(self) -> str:
        """The text of the last message of role user that is not a tool result; empty if there is none."""
        for message in reversed(self.messages):
            if message.get("role") == "user" and (text := _plain_text(message.get("content"))):
                return text
        return ""


@frozen
class Exchange:
    """An accepted request, what the script answered, and what was billed (None after an HTTP error)."""

    request: RecordedRequest
    outcome: Outcome
    usage: Usage | None


def _plain_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(block["text"] for block in blocks if isinstance(block, dict) and block.get("type") == "text")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
