"""What a policy is to the simulation: it holds a session's messages and says before each request what is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from attrs import define, field, frozen
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from benchmarks.policies.summarizer import FakeSummarizer

FIXED_TOKENS: Final = 1_800
"""Instructions and tool definitions, sent with every request: what agent_ls sends in an empty workspace."""


@frozen
class Setting:
    """What every policy gets: the window in tokens, the summariser, and what a message weighs as it is sent."""

    window: int
    summarizer: FakeSummarizer
    tokens: Callable[[ModelMessage], int]


class NotSent(Exception):
    """The policy ends the turn instead of sending a request that would not fit."""


class Policy(Protocol):
    """One session under a policy. Messages are added in order; none is changed by the simulation."""

    @property
    def fixed(self) -> tuple[str, int]:
        """What is sent before the messages: a name that changes when it does, and its tokens."""

    def add(self, message: ModelRequest, *, begins_turn: bool) -> None:
        """A prompt, or results of tools."""

    async def before_request(self) -> Sequence[ModelMessage]:
        """The messages of the request that is due. Raises NotSent."""

    def answered(self, response: ModelResponse) -> None:
        """What the model answered, with its usage."""

    async def end_turn(self) -> None:
        """The turn is over."""

    async def recalls(self, text: str) -> bool:
        """Whether the agent can get back an exact text that is no longer sent."""

    def close(self) -> None:
        """The session is over."""


@define
class Plain:
    """Every message is sent with every request; other policies say what is left out."""

    setting: Setting
    messages: list[ModelMessage] = field(init=False, factory=list)

    @property
    def fixed(self) -> tuple[str, int]:
        """Always the same."""
        return "", FIXED_TOKENS

    def add(self, message: ModelRequest, *, begins_turn: bool) -> None:
        """Keep it."""
        self.messages.append(message)

    async def before_request(self) -> Sequence[ModelMessage]:
        """All of them."""
        return list(self.messages)

    def answered(self, response: ModelResponse) -> None:
        """Keep it."""
        self.messages.append(response)

    async def end_turn(self) -> None:
        """Nothing to do."""

    async def recalls(self, text: str) -> bool:
        """What has left the messages is gone."""
        return False

    def close(self) -> None:
        """Nothing to do."""


@define
class DropOldest(Plain):
    """Above the limit the oldest rounds go until the rest fits: what most small agents do."""

    share: float = 0.8

    async def before_request(self) -> Sequence[ModelMessage]:
        """The newest messages that fit, from a place where a history may begin."""
        limit = self.setting.window * self.share - FIXED_TOKENS
        size = sum(map(self.setting.tokens, self.messages))
        while size > limit and len(self.messages) > 1:
            size -= self.setting.tokens(self.messages.pop(0))
            while len(self.messages) > 1 and not isinstance(self.messages[0], ModelResponse):
                size -= self.setting.tokens(self.messages.pop(0))
        return list(self.messages)
