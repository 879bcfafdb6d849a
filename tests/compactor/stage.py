"""A session's cascade on a real history, with a scripted summariser and a scripted conversation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from agent_ls.compaction.occupancy import Measure
from agent_ls.compactor import Compactor
from agent_ls.history import History
from agent_ls.models import ResolvedModel
from agent_ls.protocol import CompactionEvent
from agent_ls.settings import Settings
from tests.scripted_model import says, scripted

GOOD = "# Conversation summary\n## Goal\nKeep the inventory right.\n## Next Steps\nNone"


class Stage:
    """A session's cascade in a temporary folder."""

    def __init__(
        self,
        folder: Path,
        answer: Callable[[list[ModelMessage]], Any] = lambda messages: says(GOOD),
        *,
        window: int = 10_000,
        summarizer_window: int | None = None,
        **values: Any,
    ) -> None:
        self.requests: list[list[ModelMessage]] = []
        self.events: list[CompactionEvent] = []
        self.warnings: dict[str, str] = {}
        self.said: list[str] = []
        self.folder = folder

        self.answers_with(answer)

        def script(messages: list[ModelMessage]) -> Any:
            self.requests.append(messages)
            return self._answer(messages)

        self.model = scripted(script, window=summarizer_window)
        self.history = History.create(folder, directory=folder)
        self.settings = Settings(**values)
        self.window = window
        self.compactor = self.compactor_of(self.history)

    def answers_with(self, answer: Callable[[list[ModelMessage]], Any]) -> None:
        """What the summariser answers from now on; it may raise, and it may be awaited."""
        self._answer = answer

    def compactor_of(self, history: History) -> Compactor:
        async def summarizer() -> ResolvedModel:
            return self.model

        def warn(identifier: str, message: str | None) -> None:
            if message is None:
                self.warnings.pop(identifier, None)
            else:
                self.warnings[identifier] = message
                self.said.append(message)

        return Compactor(
            history=history,
            measure=Measure(),
            settings=lambda: self.settings,
            window=lambda: self.window,
            summarizer=summarizer,
            on_event=self.events.append,
            warn=warn,
        )

    def goes_on(self, history: History) -> None:
        """The session goes on with this history, resumed from its log as the server does it."""
        self.history = history
        self.compactor = self.compactor_of(history)
        self.compactor.measure.resumed(history.messages, history.first_after_checkpoint)
        self.compactor.after_resume()

    def fill(self, turns: int, *, at: int, first: int = 0, words: int = 120) -> None:
        """So many turns; only the newest answer tells its usage, and the very first one what is fixed."""
        if first == 0:
            self.user("hello")
            self.answer("Hello.", at=120)
        for number in range(first, first + turns):
            self.turn(number, at=at if number == first + turns - 1 else 0, words=words)

    # --- a conversation ------------------------------------------------------------------------------------------

    def user(self, text: str | list[Any]) -> None:
        self.history.append(ModelRequest(parts=[UserPromptPart(text)]))

    def answer(self, text: str = "Done.", *, at: int = 0) -> None:
        self._respond([TextPart(text)], at)

    def round(self, results: dict[str, str], *, at: int = 0, said: str = "") -> None:
        calls = [ToolCallPart("read_file", {"path": path}, path) for path in results]
        self._respond([*([TextPart(said)] if said else []), *calls], at)
        self.results(results)

    def results(self, results: dict[str, str]) -> None:
        """What the calls of these ids gave."""
        self.history.append(ModelRequest(parts=[ToolReturnPart("read_file", text, at) for at, text in results.items()]))

    def _respond(self, parts: list[Any], at: int) -> None:
        written = sum(len(part.content) for part in parts if isinstance(part, TextPart)) // 4
        self.responds(ModelResponse(parts=parts, usage=RequestUsage(input_tokens=at, output_tokens=written + 20)))

    def responds(self, response: ModelResponse) -> None:
        self.history.append(response)
        self.compactor.measure.responded(self.history.messages, self.history.first_after_checkpoint)

    def turn(self, number: int, *, at: int = 0, words: int = 120) -> None:
        """A prompt, one file read and an answer; the answer's usage is `at`."""
        self.user(f"PROMPT-{number} please read on")
        self.round({f"src/f{number}.py": f"CONTENT-{number} " + f"value_{number} = {number}\n" * words})
        self.answer(f"ANSWER-{number} " + "it computes values " * 20, at=at)

    def talk(self, answers: int) -> None:
        """Long answers, which no microcompaction can blank."""
        for number in range(answers):
            self.user(f"TALK-{number}")
            self.answer(f"SAID-{number} " + "and so the value is computed again " * 200)

    # --- what came of it -----------------------------------------------------------------------------------------

    def tiers(self, status: str = "completed") -> list[tuple[str, str]]:
        return [(event.tier, event.trigger) for event in self.events if event.status == status]

    def dump(self) -> bytes:
        return ModelMessagesTypeAdapter.dump_json(list(self.history.messages))

    def text(self) -> str:
        return self.dump().decode()

    def log(self) -> bytes:
        return self.history.path.read_bytes()
