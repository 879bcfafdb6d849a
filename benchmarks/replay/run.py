"""One session in one window: the real server over stdio, its model the simulator over HTTP; and what came of it."""

from __future__ import annotations

import base64
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from pydantic_ai.messages import BinaryContent, UserContent

from benchmarks.replay.performance import Performance
from benchmarks.replay.recalling import QUESTION, Recalling
from benchmarks.replay.recording import NEVER_ENDS, Turn, playable
from tests.e2e.raw_client import Json, RawClient
from tests.simulator import RecordedRequest, Simulator
from tests.simulator.replay import RecordedSession

_MOST_REQUESTS: Final = 100_000
"""A turn: some recorded ones have more rounds than the default allows."""

_GO_ON: Final = "Go on."


@frozen
class Figures:
    """What one replay did.

    `refused`: requests, by kind (overflow, unpaired, other); `errors`: prompts that ended in one, by kind; `largest`:
    tokens of the largest request; `recalled`, `lost`: of the user's texts, those that `recall` gave back, and not.
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
    user_texts: int
    recalled: int
    lost: Sequence[str]
    errors: Mapping[str, int]
    details: Sequence[str] = ()
    """Sentences about what went wrong."""

    @property
    def reached(self) -> bool:
        """Whether it did what issue 3 wants: nothing refused, lost or dangling, no request above the window."""
        return not self.refused and not self.lost and self.largest <= self.window


def replay(name: str, session: RecordedSession, window: int, model: str) -> Figures:
    """Play a session through a server of its own and ask it, at the end, for all that the user said."""
    performance = Performance(window)
    errors = Counter[str]()
    messages: list[str] = []
    with tempfile.TemporaryDirectory(prefix="agent-ls-replay-") as directory:
        workspace, home = Path(directory, "workspace"), Path(directory, "home")
        workspace.mkdir()
        turns = playable(session, workspace)
        recalling = Recalling()
        with (
            Simulator(window=window, replies=performance) as simulator,
            RawClient(environ=simulator.environment, home=home) as client,
        ):
            client.initialize(workspace, settings=_settings(window, model))
            for turn in turns:
                performance.begin(turn.replies)
                responses = [*_played(client, turn, performance)]
                if not _is_command(responses[0]):
                    recalling.texts += turn.texts
                errors.update(map(_error_kind, filter(_is_error, responses)))
                messages += [response["error"]["message"] for response in filter(_is_error, responses)]
            performance.converse(recalling.conversation())
            answer = _prompt(client, QUESTION)
            errors.update(map(_error_kind, filter(_is_error, [answer])))
            requests = simulator.requests
            tiers = Counter(
                event["tier"] for event in client.notifications("agent/compaction") if event["status"] == "completed"
            )
            client.shut_down()
            said = client.stderr.decode("utf-8", "replace")
    return Figures(
        session=name,
        window=window,
        turns=len(turns),
        requests=len(requests),
        refused=Counter(_kind(request) for request in requests if request.refused),
        largest=max((request.input_tokens for request in requests), default=0),
        micro=tiers["micro"],
        full=tiers["full"],
        cut_replies=performance.cut,
        user_texts=len(recalling.verbatim) + len(recalling.recalled) + len(recalling.lost),
        recalled=len(recalling.recalled),
        lost=recalling.lost,
        errors=errors,
        details=[
            *(f"refused: {request.refusal.message}" for request in requests if request.refusal is not None),
            *(f"error: {message}" for message in messages),
            *(f"lost: {text}" for text in recalling.lost),
            *([f"the server said: {said}"] if errors else []),
        ],
    )


def _settings(window: int, model: str) -> Json:
    return {
        "model": model,
        "compactionContextWindowTokens": window,
        "maxRequestsPerTurn": _MOST_REQUESTS,
        "memoryCompressionEnabled": False,
        "permissionMode": "bypass",
        "logLevel": "warning",
    }


def _played(client: RawClient, turn: Turn, performance: Performance) -> Iterator[Json]:
    """The responses to a turn's prompt, and to those that ask for the rest where it ended before its time.

    A prompt larger than the window plays nothing; where the next one does not either, that is given up.
    """
    yield (response := _prompt(client, turn.prompt, interrupted=turn.interrupted))
    before = len(turn.replies) + 1
    while performance.left and performance.left < before and _ended_early(response):
        before = performance.left
        yield (response := _prompt(client, _GO_ON, interrupted=turn.interrupted))


def _prompt(client: RawClient, prompt: str | Sequence[UserContent], *, interrupted: bool = False) -> Json:
    """The response to a prompt. `interrupted`: cancel it once the call that never ends has begun."""
    identifier = client.start_request("agent/prompt", {"prompt": _wire(prompt)})
    while True:
        message = client.receive()
        if "method" not in message and message.get("id") == identifier:
            return message
        if interrupted and NEVER_ENDS in _command_begun(message):
            client.notify("$/cancelRequest", {"id": identifier})


def _command_begun(message: Json) -> str:
    update = message.get("params", {}).get("update", {}) if message.get("method") == "agent/update" else {}
    return str(update.get("rawInput", "")) if update.get("sessionUpdate") == "tool_call" else ""


def _is_error(response: Json) -> bool:
    return "error" in response


def _ended_early(response: Json) -> bool:
    return _is_error(response) or response["result"]["stopReason"] == "max_tokens"


def _error_kind(response: Json) -> str:
    error = response["error"]
    return str(error.get("data", {}).get("kind", error["code"]))


def _is_command(response: Json) -> bool:
    """Whether the product itself answered: a slash command is told to no model and is no part of the conversation."""
    return not _is_error(response) and response["result"]["usage"]["requests"] == 0


def _kind(request: RecordedRequest) -> str:
    message = str(request.refusal and request.refusal.body)
    if "context_length_exceeded" in message or "prompt is too long" in message or "exceed context limit" in message:
        return "overflow"
    return "unpaired" if "tool_call" in message or "tool_use" in message or "'tool'" in message else "other"


def _wire(prompt: str | Sequence[UserContent]) -> Any:
    return prompt if isinstance(prompt, str) else [_block(item) for item in prompt]


def _block(item: UserContent) -> Json:
    if isinstance(item, BinaryContent) and item.is_image:
        return {"type": "image", "data": base64.b64encode(item.data).decode("ascii"), "mimeType": item.media_type}
    return {"type": "text", "text": str(item)}
