"""One session in one window: the real server over stdio, its model the simulator over HTTP; and what came of it."""

from __future__ import annotations

import base64
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen
from pydantic_ai.messages import BinaryContent, UserContent

from benchmarks.replay.performance import Performance
from benchmarks.replay.recalling import QUESTION, Recalling
from benchmarks.replay.recording import NEVER_ENDS, Turn, playable
from tests.e2e.raw_client import Json, RawClient
from tests.simulator import Simulator
from tests.simulator.refusal import Refusal
from tests.simulator.replay import RecordedSession

_MOST_REQUESTS: Final = 100_000
"""A turn: some recorded ones have more rounds than the default allows."""

_GO_ON: Final = "Go on."
_OVERFLOW_WORDINGS: Final = ("context_length_exceeded", "prompt is too long", "exceed context limit")
_PAIR_WORDINGS: Final = ("tool_call", "tool_use", "tool_result", "role 'tool'")


@frozen
class Figures:
    """What one replay did.

    `refused`: requests, by kind (overflow, unpaired, other); `errors`: prompts that ended in one, by kind; `largest`:
    tokens of the largest request; `cut_replies`, `unplayed_replies`: of the recording's, those that the window cut
    short, and those that were never asked for; `recalled`, `lost`: of the user's texts, those that `recall` gave back,
    and those that it did not. `details`: sentences about what went wrong.
    """

    session: str
    window: int
    turns: int
    requests: int
    refused: Mapping[str, int]
    largest: int
    micro: int
    full: int
    cut_replies: int
    unplayed_replies: int
    user_texts: int
    recalled: int
    lost: Sequence[str]
    errors: Mapping[str, int]
    details: Sequence[str]

    @property
    def reached(self) -> bool:
        """Whether it did what it must: nothing refused, lost or dangling, no request above the window."""
        return not self.refused and not self.lost and self.largest <= self.window


def replay(name: str, session: RecordedSession, window: int, model: str) -> Figures:
    """Play a session through a server of its own and ask it, at the end, for all that the user said."""
    performance = Performance(window)
    with tempfile.TemporaryDirectory(prefix="agent-ls-replay-") as directory:
        workspace, home = Path(directory, "workspace"), Path(directory, "home")
        workspace.mkdir()
        turns = playable(session, workspace)
        with (
            Simulator(window=window, replies=performance) as simulator,
            RawClient(environ=simulator.environment, home=home) as client,
        ):
            client.initialize(workspace, settings=_settings(window, model))
            user = _User(client, performance)
            for turn in turns:
                user.plays(turn)
            user.asks_for_everything()
            client.shut_down()
            requests = simulator.requests
    refusals = [request.refusal for request in requests if request.refusal is not None]
    compactions = [event for event in client.notifications("agent/compaction") if event["status"] == "completed"]
    tiers = Counter(event["tier"] for event in compactions)
    lost = user.recalling.lost
    return Figures(
        session=name,
        window=window,
        turns=len(turns),
        requests=len(requests),
        refused=Counter(map(_kind_of_refusal, refusals)),
        largest=max((request.input_tokens for request in requests), default=0),
        micro=tiers["micro"],
        full=tiers["full"],
        cut_replies=performance.cut,
        unplayed_replies=user.unplayed,
        user_texts=len(user.recalling.verbatim) + len(user.recalling.recalled) + len(lost),
        recalled=len(user.recalling.recalled),
        lost=lost,
        errors=Counter(map(_kind_of_error, user.errors)),
        details=[
            *(f"refused: {refusal.message}" for refusal in refusals),
            *(f"error: {error['message']}" for error in user.errors),
            *(f"lost: {text}" for text in lost),
        ],
    )


@define
class _User:
    """Sends the recorded prompts. `errors`: what prompts ended in; `unplayed`: replies that nobody asked for."""

    client: RawClient
    performance: Performance
    recalling: Recalling = field(init=False, factory=Recalling)
    errors: list[Json] = field(init=False, factory=list)
    unplayed: int = field(init=False, default=0)

    def plays(self, turn: Turn) -> None:
        """Send a turn's prompt, and ask for the rest where the turn ended before its time.

        A prompt larger than the window plays nothing; where the next one does not either, that is given up.
        """
        self.performance.begin(turn.replies)
        response = self._prompt(turn.prompt, interrupted=turn.interrupted)
        if not _is_answered_by_command(response):
            self.recalling.texts += turn.texts
        before = len(turn.replies) + 1
        while self.performance.left and self.performance.left < before and _ended_early(response):
            before = self.performance.left
            response = self._prompt(_GO_ON, interrupted=turn.interrupted)
        self.unplayed += self.performance.left

    def asks_for_everything(self) -> None:
        """Have the model look for all the user's texts."""
        self.performance.converse(self.recalling.conversation())
        self._prompt(QUESTION)

    def _prompt(self, prompt: str | Sequence[UserContent], *, interrupted: bool = False) -> Json:
        """The response to a prompt. `interrupted`: cancel it once the call that never ends has begun."""
        identifier = self.client.start_request("agent/prompt", {"prompt": _wire(prompt)})
        while True:
            message = self.client.receive()
            if "method" not in message and message.get("id") == identifier:
                if "error" in message:
                    self.errors.append(message["error"])
                return message
            if interrupted and NEVER_ENDS in _command_begun(message):
                self.client.notify("$/cancelRequest", {"id": identifier})


def _settings(window: int, model: str) -> Json:
    return {
        "model": model,
        "compactionContextWindowTokens": window,
        "maxRequestsPerTurn": _MOST_REQUESTS,
        "memoryCompressionEnabled": False,
        "permissionMode": "bypass",
        "logLevel": "warning",
    }


def _command_begun(message: Json) -> str:
    update = message.get("params", {}).get("update", {}) if message.get("method") == "agent/update" else {}
    return str(update.get("rawInput", "")) if update.get("sessionUpdate") == "tool_call" else ""


def _ended_early(response: Json) -> bool:
    return "error" in response or response["result"]["stopReason"] == "max_tokens"


def _is_answered_by_command(response: Json) -> bool:
    """Whether the product itself answered: a slash command is told to no model and is no part of the conversation."""
    return "error" not in response and response["result"]["usage"]["requests"] == 0


def _kind_of_error(error: Json) -> str:
    return str(error.get("data", {}).get("kind", error["code"]))


def _kind_of_refusal(refusal: Refusal) -> str:
    if any(wording in str(refusal.body) for wording in _OVERFLOW_WORDINGS):
        return "overflow"
    return "unpaired" if any(wording in refusal.message for wording in _PAIR_WORDINGS) else "other"


def _wire(prompt: str | Sequence[UserContent]) -> Any:
    return prompt if isinstance(prompt, str) else [_block(item) for item in prompt]


def _block(item: UserContent) -> Json:
    if isinstance(item, BinaryContent) and item.is_image:
        return {"type": "image", "data": base64.b64encode(item.data).decode("ascii"), "mimeType": item.media_type}
    return {"type": "text", "text": str(item)}
