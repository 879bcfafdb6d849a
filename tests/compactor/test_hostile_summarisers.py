"""Summarisers that hurt (CASCADE §11): the session goes on, and a failure changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelAuthenticationError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)

from agent_ls.compaction.full import SummarizerFailed
from agent_ls.compaction.micro import ELIDED
from agent_ls.errors import ModelUnavailable
from agent_ls.models import ResolvedModel
from agent_ls.summarizer import RETRIES, Summarizer
from tests.compactor.stage import GOOD, Stage
from tests.scripted_model import says, scripted


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


async def test_an_error_of_our_own_ends_what_was_said_to_have_started(tmp_path: Path) -> None:
    stage = Stage(tmp_path, _raises(ZeroDivisionError("a bug")))
    stage.fill(8, at=8_500)
    history, log = stage.dump(), stage.log()
    with pytest.raises(ZeroDivisionError):
        await stage.compactor.by_hand(None)
    await stage.compactor.at_turn_end()
    assert [event.status for event in stage.events] == ["started", "failed", "started", "failed"]
    assert "internal error" in str(stage.events[-1].reason)
    assert stage.dump() == history
    assert stage.log() == log


LONG = "## Goal\n" + "- one more thing that was said, at length and without need\n" * 400


@pytest.mark.parametrize("answer", [_echo, lambda messages: says(LONG)], ids=["fault 4: echo", "fault 6: longer"])
async def test_fault_04_and_06_a_summary_that_saves_nothing_is_rejected_and_not_tried_again(
    tmp_path: Path, answer: Callable[[list[ModelMessage]], Any]
) -> None:
    stage = Stage(tmp_path, answer)
    stage.user("hello")
    stage.answer("it computes values\n" * 90, at=120)
    # The tail: what is before it is less than the summary may take.
    stage.user("and then?")
    budgets, estimator = stage.compactor.budgets(), stage.compactor.measure.estimator
    stage.answer("word " * (budgets.tail * 80 // estimator.text("word " * 100)), at=8_500)
    history, log = stage.dump(), stage.log()
    for _ in range(5):
        await stage.compactor.at_turn_end()
    assert [event.status for event in stage.events] == ["started", "failed"]
    assert "saved too little" in str(stage.events[-1].reason)
    assert len(stage.requests) == 1
    assert (stage.dump(), stage.log()) == (history, log)
    # Once the history has grown by a tenth of the window it is worth another try.
    stage.talk(1)
    stage.answer(at=8_500)
    await stage.compactor.at_turn_end()
    assert len(stage.requests) == 2


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


async def test_a_connection_that_keeps_dropping_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_ls.models.retries._FIRST_DELAY_SECONDS", 0.0)
    stage = Stage(tmp_path, _raises(ConnectionError("dropped")))
    stage.fill(8, at=8_500)
    history, log = stage.dump(), stage.log()
    for _ in range(5):
        await stage.compactor.at_turn_end()
    assert (stage.dump(), stage.log()) == (history, log)
    assert len(stage.requests) == 3 * (1 + RETRIES)


async def test_a_summariser_that_hangs_is_a_failure() -> None:
    async def hang(messages: list[ModelMessage]) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(SummarizerFailed, match="did not answer"):
        await Summarizer(scripted(hang), longest_answer_seconds=0.01)([ModelRequest(parts=[UserPromptPart("x")])], 100)


async def test_a_time_out_of_the_provider_is_not_taken_for_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_ls.models.retries._FIRST_DELAY_SECONDS", 0.0)
    answers = iter([TimeoutError("the provider's own"), None])

    def answer(messages: list[ModelMessage]) -> ModelResponse:
        if (error := next(answers)) is not None:
            raise error
        return says(GOOD)

    response = await Summarizer(scripted(answer))([ModelRequest(parts=[UserPromptPart("x")])], 100)
    assert response.text == GOOD


async def test_fault_39_cancelling_between_two_tries_changes_nothing(tmp_path: Path) -> None:
    asked = asyncio.Event()

    def drop(messages: list[ModelMessage]) -> ModelResponse:
        asked.set()
        raise ConnectionError("dropped")

    stage = Stage(tmp_path, drop)
    stage.fill(8, at=8_500)
    history, log = stage.dump(), stage.log()
    task = asyncio.create_task(stage.compactor.by_hand(None))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (stage.dump(), stage.log()) == (history, log)


async def test_no_failure_at_the_end_of_a_turn_fails_it(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> ResolvedModel:
        raise RuntimeError("a fault of ours")

    stage.compactor.summarizer = broken
    stage.fill(8, at=8_500)
    before = stage.dump()
    await stage.compactor.at_turn_end()
    assert stage.dump() == before
    assert "a fault of ours" in caplog.text


async def test_a_tier_that_did_not_land_leaves_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "agent_ls.compactor")
    stage = Stage(tmp_path, HOSTILE["blank"])
    stage.fill(8, at=8_500)
    await stage.compactor.at_turn_end()
    (line,) = [record for record in caplog.records if record.name == "agent_ls.compactor"]
    assert line.levelname == "INFO"
    assert "the answer was empty" in line.message.casefold()


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


async def test_fault_21_a_history_of_three_windows_is_summarised(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=8_000)
    stage.talk(60)
    assert stage.compactor.projected.count > 3 * stage.window
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"
    assert stage.requests


@pytest.mark.parametrize("words", ["Por favor, continue com o inventário.", "Hãy tiếp tục với kho hàng."])
async def test_fault_27_the_language_of_the_users_last_words_is_named(stage: Stage, words: str) -> None:
    stage.fill(10, at=0)
    stage.user(words)
    stage.answer()
    stage.user("ok")
    stage.answer(at=5_000)
    await stage.compactor.by_hand(None)
    assert words in str(stage.history.messages[1:])
    assert f"in the language the user writes: “{words}”" in str(stage.requests[-1])


async def test_what_was_blanked_is_summarised_from_the_log(stage: Stage) -> None:
    stage.fill(12, at=6_500)
    await stage.compactor.at_turn_end()
    assert "CONTENT-0 " not in stage.text()
    stage.answer(at=8_500)
    await stage.compactor.at_turn_end()
    assert "CONTENT-0 " in str(stage.requests[-1])
    assert ELIDED not in str(stage.requests[-1])
