"""The cascade on a real history with a scripted summariser: when it fires, what it keeps, what cannot hurt it."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.exceptions import ModelAuthenticationError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from agent_ls.compaction.micro import ELIDED
from agent_ls.compaction.occupancy import Measure
from agent_ls.compaction.summary import is_summary
from agent_ls.compactor import Compactor
from agent_ls.errors import ContextTooLarge, ModelUnavailable
from agent_ls.history import History
from agent_ls.models import ContextOverflow, ResolvedModel
from agent_ls.protocol import CompactionEvent
from agent_ls.settings import Settings
from agent_ls.tokens import Tokens
from tests.compaction.histories import unpaired
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

        def script(messages: list[ModelMessage]) -> Any:
            self.requests.append(messages)
            return answer(messages)

        self.model = scripted(script, window=summarizer_window)
        self.history = History.create(folder, directory=folder)
        self.settings = Settings(**values)
        self.window = window
        self.compactor = self.compactor_of(self.history)

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

    def round(self, results: dict[str, str], *, at: int = 0) -> None:
        self._respond([ToolCallPart("read_file", {"path": path}, path) for path in results], at)
        self.history.append(
            ModelRequest(parts=[ToolReturnPart("read_file", text, path) for path, text in results.items()])
        )

    def _respond(self, parts: list[Any], at: int) -> None:
        written = sum(len(part.content) for part in parts if isinstance(part, TextPart)) // 4
        self.history.append(ModelResponse(parts=parts, usage=RequestUsage(input_tokens=at, output_tokens=written + 20)))
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


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# --- the end of a turn (§3) -------------------------------------------------------------------------------------------


async def test_fault_01_one_compaction_after_a_turn_at_85_percent(stage: Stage) -> None:
    stage.fill(8, at=8_500)
    await stage.compactor.at_turn_end()
    assert stage.tiers() == [("full", "turnEnd")]
    assert len(stage.requests) == 1
    await stage.compactor.at_turn_end()
    assert len(stage.requests) == 1


async def test_fault_02_a_small_window_is_not_compacted_without_need(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=16_384)
    stage.user("go")
    for number in range(6):
        stage.round({f"f{number}": "x = 1\n" * 80}, at=2_000 + number * 500)
        await stage.compactor.before_request(0)
    stage.answer(at=5_500)
    await stage.compactor.at_turn_end()
    assert stage.events == []


@pytest.mark.parametrize(
    ("at", "tiers"), [(0, []), (5_999, []), (6_000, [("micro", "turnEnd")]), (8_000, [("full", "turnEnd")])]
)
async def test_the_tiers_fire_at_their_levels(tmp_path: Path, at: int, tiers: list[Any]) -> None:
    stage = Stage(tmp_path)
    stage.fill(12, at=at)
    await stage.compactor.at_turn_end()
    assert stage.tiers() == tiers


async def test_nothing_fires_when_compaction_is_off(tmp_path: Path) -> None:
    stage = Stage(tmp_path, compaction_enabled=False)
    stage.fill(8, at=9_900)
    await stage.compactor.at_turn_end()
    await stage.compactor.before_request(0)
    assert stage.events == []


async def test_micro_blanks_old_results_and_keeps_recent_ones(stage: Stage) -> None:
    stage.fill(12, at=6_500)
    before = stage.compactor.used
    await stage.compactor.at_turn_end()
    text = stage.text()
    assert "CONTENT-0 " not in text
    assert "CONTENT-11 " in text
    assert "ANSWER-0 " in text
    (event,) = stage.events
    assert event.before == before == Tokens.measured(6_500)
    assert event.after is not None
    assert event.after.count < 6_500
    assert event.after.basis == "estimated"
    assert stage.history.anything_elided


async def test_fault_41_between_passes_no_earlier_message_changes(stage: Stage) -> None:
    stage.fill(12, at=6_500)
    await stage.compactor.at_turn_end()
    after_first = list(stage.history.messages)
    stage.turn(12, at=6_100, words=5)
    await stage.compactor.at_turn_end()
    assert all(new is old for new, old in zip(stage.history.messages, after_first, strict=False))


# --- full compaction (§6, §11, §12) -----------------------------------------------------------------------------------


async def test_what_a_compaction_makes(stage: Stage) -> None:
    stage.fill(8, at=8_500)
    tail = list(stage.history.messages)
    await stage.compactor.at_turn_end()
    summary, *kept = stage.history.messages
    assert is_summary(summary)
    assert kept == tail[-len(kept) :]
    assert not unpaired(stage.history.messages)
    assert "PROMPT-0" in str(summary)
    assert "src/f0.py" in str(summary)
    assert stage.compactor.occupancy == 0
    assert stage.compactor.used.basis == "estimated"
    assert stage.compactor.used.count < stage.compactor.levels().micro
    told = stage.events[-1].summary
    assert told is not None
    assert told in str(summary.parts[0].content)  # what a client may show is what the model gets


async def test_fault_30_and_35_resume_equals_live_and_the_tail_of_the_first_is_in_the_second(stage: Stage) -> None:
    stage.fill(8, at=8_500)
    await stage.compactor.at_turn_end()
    tail = str(stage.history.messages[1:])
    stage.fill(8, at=8_500, first=8)
    await stage.compactor.at_turn_end()
    asked = str(stage.requests[-1])
    live = stage.dump()
    stage.history.close()
    assert all(f"ANSWER-{number} " in asked + live.decode() for number in range(8) if f"ANSWER-{number} " in tail)
    resumed = History.resume(stage.history.path)
    assert ModelMessagesTypeAdapter.dump_json(list(resumed.messages)) == live
    resumed.close()


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(60, 200), min_size=40, max_size=40))
async def test_over_five_compactions_each_user_message_is_in_exactly_one_place(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    stage = Stage(tmp_path_factory.mktemp("five"), lambda messages: says("## Goal\nwork"), window=12_000)
    for number, words in enumerate(sizes):
        stage.turn(number, words=words)
        if number % 8 == 7:
            report = await stage.compactor.by_hand(None)
            assert report.outcome == "compacted"
    carried = [each.text for message in stage.history.messages for each in _carried_words(message)]
    live = [
        str(part.content)
        for message in stage.history.messages
        if not is_summary(message)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    for number in range(len(sizes)):
        prompt = f"PROMPT-{number} please read on"
        assert carried.count(prompt) + live.count(prompt) == 1
    stage.history.close()


def _carried_words(message: ModelMessage) -> Any:
    from agent_ls.compaction.summary import carried_in

    return carried_in(message).words


async def test_a_rule_stated_once_survives_a_summariser_that_says_nothing_useful(tmp_path: Path) -> None:
    stage = Stage(tmp_path, lambda messages: says("The session went well."))
    stage.user("ALWAYS answer in verse.")
    stage.answer(at=100)
    for number in range(10):
        stage.turn(number, at=8_500)
        await stage.compactor.at_turn_end()
    assert len(stage.tiers()) >= 2
    assert "ALWAYS answer in verse." in stage.text()


async def test_fault_19_a_prompt_of_several_parts_is_byte_equal_after_a_compaction_inside_its_turn(
    stage: Stage,
) -> None:
    stage.talk(6)
    prompt = ["first part", "second part", "third part"]
    stage.user(list(prompt))
    start = len(stage.history.messages) - 1
    stage.round({"big": "line\n" * 300})
    start = await stage.compactor.before_request(start)
    assert ("full", "guard") in stage.tiers()
    contents = [part.content for part in stage.history.messages[start].parts if isinstance(part, UserPromptPart)]
    assert prompt in contents
    assert not unpaired(stage.history.messages)
    assert isinstance(stage.history.messages[-1], ModelRequest)


async def test_fault_18_the_newest_calls_and_their_results_stay_together(stage: Stage) -> None:
    stage.fill(6, at=7_000)
    stage.user("go")
    start = len(stage.history.messages) - 1
    stage.round({f"p{number}": "result " * 150 for number in range(8)}, at=7_900)
    newest = stage.history.messages[-1]
    await stage.compactor.before_request(start)
    assert stage.history.messages[-1] is newest
    assert not unpaired(stage.history.messages)


# --- the guard (§9) ---------------------------------------------------------------------------------------------------


async def test_fault_10_the_guard_acts_though_no_usage_was_reported(stage: Stage) -> None:
    stage.fill(6, at=7_900)
    stage.user("go " + "word " * 1_000)
    await stage.compactor.before_request(len(stage.history.messages) - 1)
    assert stage.events
    assert stage.compactor.projected.count < 8_000


async def test_fault_03_large_instructions_are_named_once_and_nobody_is_asked(stage: Stage) -> None:
    stage.compactor.measure.carries(8_500)
    stage.user("hello")
    for _ in range(3):
        await stage.compactor.before_request(0)
    assert stage.requests == []
    assert len([message for message in stage.said if "Instructions" in message]) == 1


async def test_fault_05_one_uncuttable_turn_gives_one_notice_not_twelve(tmp_path: Path) -> None:
    stage = Stage(tmp_path, lambda messages: says(""))
    stage.user("go")
    start = 0
    for number in range(12):
        stage.round({f"f{number}": "y " * 60}, at=8_100 + number)
        start = await stage.compactor.before_request(start)
    assert len(stage.said) == len(set(stage.said)) <= 3


async def test_a_request_that_cannot_fit_is_not_sent(stage: Stage) -> None:
    stage.user("word " * 20_000)
    with pytest.raises(ContextTooLarge, match="nothing more can be freed"):
        await stage.compactor.before_request(0)


async def test_a_request_under_the_window_is_sent(stage: Stage) -> None:
    stage.user("word " * 7_000)
    assert await stage.compactor.before_request(0) == 0


# --- summarisers that hurt (§11) --------------------------------------------------------------------------------------


def _raises(error: Exception) -> Callable[[list[ModelMessage]], Any]:
    def answer(messages: list[ModelMessage]) -> Any:
        raise error

    return answer


def _echo(messages: list[ModelMessage]) -> ModelResponse:
    return says(str(messages[-1].parts[0].content) * 3)  # type: ignore[union-attr]


HOSTILE: dict[str, Callable[[list[ModelMessage]], Any]] = {
    "empty": lambda messages: says(""),
    "blank": lambda messages: says(" \n\t "),
    "headings only": lambda messages: says("# Conversation summary\n## Goal\n"),
    "thinking only": lambda messages: ModelResponse(parts=[ThinkingPart("hmm")]),
    "tool call": lambda messages: ModelResponse(parts=[ToolCallPart("read_file", {"path": "x"}, "c")]),
    "unauthorised": _raises(
        ModelHTTPError.for_category(
            ModelAuthenticationError, status_code=401, model_name="m", body={"message": "bad key"}
        )
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_fault_23_and_25_a_bad_summariser_changes_nothing_and_is_tried_three_times(
    tmp_path: Path, name: str
) -> None:
    stage = Stage(tmp_path, HOSTILE[name])
    stage.fill(8, at=8_500)
    history, log = stage.dump(), stage.log()
    for _ in range(6):
        await stage.compactor.at_turn_end()
    assert stage.dump() == history
    assert stage.log() == log
    assert len(stage.requests) == 3
    assert "paused" in stage.warnings["compaction"]
    report = await stage.compactor.by_hand(None)
    assert report.outcome == "summarizerFailed"
    assert str(stage.history.path) in report.message
    assert len(stage.requests) == 4


async def test_fault_26_an_authentication_error_is_called_so(tmp_path: Path) -> None:
    stage = Stage(tmp_path, HOSTILE["unauthorised"])
    stage.fill(8, at=8_500)
    assert "credentials" in (await stage.compactor.by_hand(None)).message


async def test_fault_04_and_06_a_summary_that_saves_nothing_is_rejected_and_not_tried_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, _echo, compaction_keep_recent_tokens=2_600)
    stage.fill(3, at=8_500, words=100)
    stage.user("short")
    stage.answer(at=8_500)
    before = stage.dump()
    for _ in range(5):
        await stage.compactor.at_turn_end()
    if stage.tiers():
        assert len(stage.requests) == 1
        assert len(stage.dump()) < len(before)
    else:
        assert len(stage.requests) == 1
        assert stage.dump() == before


async def test_a_huge_summary_is_clipped_to_its_budget(tmp_path: Path) -> None:
    stage = Stage(tmp_path, lambda messages: says("## Goal\n" + "- one more thing to do\n" * 5_000))
    stage.fill(12, at=8_500)
    await stage.compactor.at_turn_end()
    assert stage.tiers() == [("full", "turnEnd")]
    assert stage.compactor.used.count < stage.compactor.levels().micro


async def test_fault_24_a_dropped_connection_is_tried_again(tmp_path: Path) -> None:
    attempts: list[int] = []

    def answer(messages: list[ModelMessage]) -> ModelResponse:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError("dropped")
        return says(GOOD)

    stage = Stage(tmp_path, answer)
    stage.fill(8, at=8_500)
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"
    assert len(attempts) == 2


async def test_fault_39_cancelling_changes_nothing(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def hang(messages: list[ModelMessage]) -> ModelResponse:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    stage = Stage(tmp_path, hang)
    stage.fill(8, at=8_500)
    history, log = stage.dump(), stage.log()
    task = asyncio.create_task(stage.compactor.by_hand(None))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (stage.dump(), stage.log()) == (history, log)
    assert [event.status for event in stage.events] == ["started", "cancelled"]


async def test_while_paused_and_full_a_summary_without_a_model_keeps_the_session_alive(tmp_path: Path) -> None:
    stage = Stage(tmp_path, HOSTILE["blank"])
    stage.user("ALWAYS use tabs.")
    stage.answer()
    for number in range(30):
        stage.user(f"prompt {number} " + "word " * 120)
        await stage.compactor.before_request(len(stage.history.messages) - 1)
        projected = stage.compactor.projected.count
        assert projected <= stage.window
        stage.answer("answer " * 300, at=projected)
        await stage.compactor.at_turn_end()
    assert ("full", "guard") in stage.tiers()
    assert "without a model" in stage.text()
    assert "ALWAYS use tabs." in stage.text()


async def test_an_unavailable_model_is_a_failure_in_words(stage: Stage) -> None:
    async def unavailable() -> ResolvedModel:
        raise ModelUnavailable("anthropic:x needs a key.")

    stage.compactor.summarizer = unavailable
    stage.fill(8, at=8_500)
    report = await stage.compactor.by_hand(None)
    assert report.outcome == "summarizerFailed"
    assert "needs a key" in report.message


@pytest.mark.parametrize("summarizer_window", [2_000, 4_000, 8_000])
async def test_fault_21_and_22_the_summary_request_always_fits(tmp_path: Path, summarizer_window: int) -> None:
    stage = Stage(tmp_path, window=30_000, summarizer_window=summarizer_window)
    stage.fill(60, at=29_000, words=150)
    report = await stage.compactor.by_hand(None)
    assert report.outcome == "compacted", report
    estimator = stage.compactor.measure.estimator
    for request in stage.requests:
        instructions = sum(
            estimator.text(message.instructions or "") for message in request if isinstance(message, ModelRequest)
        )
        assert estimator.messages(request) + instructions + 256 <= summarizer_window


async def test_fault_27_the_users_language_is_named(stage: Stage) -> None:
    for number in range(8):
        stage.turn(number)
    stage.user("Por favor, continue com o inventário.")
    stage.answer()
    for number in range(8, 14):
        stage.turn(number)
    stage.history.append(ModelRequest(parts=[UserPromptPart("Obrigado, e agora os testes.")]))
    stage.answer(at=100)
    stage.settings = Settings(compaction_keep_recent_tokens=10)
    await stage.compactor.by_hand(None)
    assert "language the user writes: “Obrigado, e agora os testes.”" in str(stage.requests[-1])


async def test_what_was_blanked_is_summarised_from_the_log(stage: Stage) -> None:
    stage.fill(12, at=6_500)
    await stage.compactor.at_turn_end()
    assert "CONTENT-0 " not in stage.text()
    stage.answer(at=8_500)
    await stage.compactor.at_turn_end()
    assert "CONTENT-0 " in str(stage.requests[-1])
    assert ELIDED not in str(stage.requests[-1])


# --- by hand, undo, overflow, disk ------------------------------------------------------------------------------------


async def test_a_second_compaction_with_nothing_new_asks_nobody(stage: Stage) -> None:
    stage.fill(8, at=1_000)
    assert (await stage.compactor.by_hand("the tests")).outcome == "compacted"
    assert "the tests" in str(stage.requests[0])
    log = stage.log()
    assert (await stage.compactor.by_hand(None)).outcome == "nothingToCompact"
    assert len(stage.requests) == 1
    assert stage.log() == log


async def test_fault_36_undo_brings_the_originals_back(stage: Stage) -> None:
    stage.fill(8, at=1_000)
    original = stage.dump()
    await stage.compactor.by_hand(None)
    undone, message = stage.compactor.undo()
    assert undone
    assert "undone" in message
    assert stage.dump() == original
    assert stage.compactor.undo() == (False, "There is no compaction to undo.")


async def test_fault_34_a_full_disk_changes_neither_memory_nor_log(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.fill(8, at=8_500)
    history, log = stage.dump(), stage.log()

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.write", full)
    report = await stage.compactor.by_hand(None)
    monkeypatch.undo()
    assert report.outcome == "summarizerFailed"
    assert "No space left" in report.message
    assert (stage.dump(), stage.log()) == (history, log)
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"


async def test_an_overflow_makes_the_history_smaller_and_teaches_the_window(stage: Stage) -> None:
    stage.window = 100_000
    for number in range(20):
        stage.turn(number)
    stage.user("go")
    before = len(stage.dump())
    overflow = ContextOverflow(ContextTooLarge("too long"), rejected=12_000, limit=8_000)
    assert await stage.compactor.after_overflow(len(stage.history.messages) - 1, overflow) is not None
    assert stage.compactor.levels().window == 8_000
    assert len(stage.dump()) < before
    assert stage.compactor.projected.count < 8_000
    assert "8,000" in stage.warnings["window"]


async def test_an_overflow_of_which_nothing_can_be_freed_is_final(stage: Stage) -> None:
    stage.user("go")
    overflow = ContextOverflow(ContextTooLarge("too long"), rejected=None, limit=None)
    assert await stage.compactor.after_overflow(0, overflow) is None
