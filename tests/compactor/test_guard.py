"""The guard inside a turn and the way out of an overflow (CASCADE §9, §10)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, UserPromptPart

from agent_ls.errors import ContextTooLarge
from agent_ls.models import ContextOverflow
from tests.compaction.histories import unpaired
from tests.compactor.stage import GOOD, Stage
from tests.scripted_model import says


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


async def test_fault_05_one_uncuttable_turn_gives_one_notice_not_twelve(stage: Stage) -> None:
    stage.user("word " * 7_700)
    start = 0
    for number in range(12):
        start = await stage.compactor.before_request(start)
        stage.round({f"f{number}": "y" * 20})
    assert stage.compactor.levels().full <= stage.compactor.projected.count
    assert len(stage.said) == 1
    assert stage.requests == []
    assert start == 0


async def test_no_turn_waits_for_a_summary_that_cannot_save_enough(stage: Stage) -> None:
    stage.user("hello")
    stage.answer("Hello, what can I do for you?")
    stage.user("word " * 8_200)
    for _ in range(3):
        assert await stage.compactor.before_request(2) == 2
    assert stage.requests == []
    assert stage.events == []
    assert len(stage.said) == 1


async def test_a_request_that_cannot_fit_is_not_sent(stage: Stage) -> None:
    stage.user("word " * 20_000)
    with pytest.raises(ContextTooLarge, match=r"nothing more can be freed \(.*the prompt: 2\d,\d{3}\)"):
        await stage.compactor.before_request(0)


async def test_a_request_under_the_window_is_sent(stage: Stage) -> None:
    stage.user("word " * 7_000)
    assert await stage.compactor.before_request(0) == 0


async def test_nothing_happens_inside_a_turn_when_that_is_switched_off(tmp_path: Path) -> None:
    stage = Stage(tmp_path, compaction_mid_turn=False)
    stage.fill(12, at=9_900)
    stage.user("go")
    await stage.compactor.before_request(len(stage.history.messages) - 1)
    assert stage.events == []


async def test_a_pass_that_frees_too_little_is_left_out_inside_a_turn_too(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=60_000)
    stage.round({"old": "x = 1\n" * 120})
    stage.talk(16)
    stage.user("go")
    start = len(stage.history.messages) - 1
    stage.compactor.measure.carries(48_000 - stage.compactor.measure.estimator.messages(stage.history.messages) + 100)
    await stage.compactor.before_request(start)
    assert "micro" not in dict(stage.tiers())
    assert stage.tiers() == [("full", "guard")]


async def test_a_prompt_moved_into_the_summary_is_moved_again_and_never_summarised(stage: Stage) -> None:
    prompt = "PROMPT of this very turn"
    stage.user(prompt)
    start = 0
    for number in range(40):
        stage.round({f"f{number}": "line of a file\n" * 20}, said="so the next value is computed " * 60)
        start = await stage.compactor.before_request(start)
        kept = [part.content for part in stage.history.messages[start].parts if isinstance(part, UserPromptPart)]
        assert kept[-1] == prompt
    assert stage.tiers().count(("full", "guard")) >= 2
    assert str(stage.history.messages).count(prompt) == 1
    transcripts = [str(request).split("</conversation>")[0] for request in stage.requests]
    assert not any(prompt in transcript for transcript in transcripts)
    assert not unpaired(stage.history.messages)


async def too_large_a_round(stage: Stage) -> None:
    """A turn that ended because the results of its newest round do not fit."""
    stage.fill(3, at=0)
    stage.user("read them all")
    start = len(stage.history.messages) - 1
    stage.round({f"f{number}": "value = 1\n" * 700 for number in range(6)})
    with pytest.raises(ContextTooLarge):
        await stage.compactor.before_request(start)


async def test_a_round_that_did_not_fit_does_not_end_the_session(stage: Stage) -> None:
    await too_large_a_round(stage)
    stage.user("then read only the first")
    start = await stage.compactor.before_request(len(stage.history.messages) - 1)
    assert stage.compactor.projected.count < stage.compactor.levels().full
    assert "then read only the first" in str(stage.history.messages[start])
    assert "read them all" in str(stage.history.messages[0])
    assert not unpaired(stage.history.messages)


async def test_a_round_that_did_not_fit_can_be_compacted_by_hand(stage: Stage) -> None:
    await too_large_a_round(stage)
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"
    assert stage.compactor.used.count < stage.compactor.levels().micro
    assert not unpaired(stage.history.messages)


async def test_a_prompt_beside_results_is_moved_without_them(stage: Stage) -> None:
    stage.talk(6)
    stage.round({"a": "first\n" * 20})
    beside = [*stage.history.messages[-1].parts, UserPromptPart("PROMPT beside results")]
    stage.history.append(
        ModelResponse(parts=[ToolCallPart("read_file", {"path": "b"}, "a")]), ModelRequest(parts=beside)
    )
    start = len(stage.history.messages) - 1
    for number in range(5):
        stage.round({f"f{number}": "line\n" * 40}, said="so the value is computed " * 90)
    start = await stage.compactor.before_request(start)
    assert ("full", "guard") in stage.tiers()
    assert "PROMPT beside results" in str(stage.history.messages[start])
    assert not unpaired(stage.history.messages)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rounds=st.lists(
        st.lists(st.tuples(st.integers(0, 400), st.booleans()), min_size=1, max_size=3), min_size=1, max_size=12
    ),
    window=st.sampled_from([3_000, 8_000, 16_000]),
    counted=st.booleans(),
    answer=st.sampled_from([GOOD, "", "The session went well.", "## Goal\n" + "- more\n" * 3_000]),
)
async def test_no_request_above_the_window_is_ever_sent(
    tmp_path_factory: pytest.TempPathFactory,
    rounds: list[list[tuple[int, bool]]],
    window: int,
    counted: bool,
    answer: str,
) -> None:
    stage = Stage(tmp_path_factory.mktemp("guard"), lambda messages: says(answer), window=window)
    stage.user("ALWAYS use tabs. " + "word " * 40)
    start = 0
    try:
        for number, results in enumerate(rounds):
            newest = stage.history.messages[-1]
            try:
                start = await stage.compactor.before_request(start)
            except ContextTooLarge:
                assert stage.compactor.projected.count > window
                return
            assert stage.compactor.projected.count <= window
            assert stage.history.messages[-1] is newest or start == 0
            assert "ALWAYS use tabs." in str(stage.history.messages[start])
            assert not unpaired(stage.history.messages)
            sent = stage.compactor.projected.count if counted else 0
            stage.round(
                {
                    f"{number}-{at}": ("line of text\n" if prose else "0xA9f\n") * size
                    for at, (size, prose) in enumerate(results)
                },
                at=sent,
            )
    finally:
        stage.history.close()


# --- overflow (§10) ---------------------------------------------------------------------------------------------------


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


async def test_an_overflow_the_estimate_did_not_see_is_compacted_all_the_same(stage: Stage) -> None:
    stage.window = 100_000
    stage.talk(8)
    stage.user("go")
    sent = stage.compactor.projected.count
    overflow = ContextOverflow(ContextTooLarge("too long"), rejected=sent * 2, limit=sent * 2 - 100)
    assert await stage.compactor.after_overflow(len(stage.history.messages) - 1, overflow) is not None
    assert stage.tiers() == [("full", "overflow")]
    # What the provider counted is what the estimate says from now on.
    assert stage.compactor.measure.estimator.factor > 1.5
    assert stage.compactor.projected.count < stage.compactor.levels().micro


async def test_an_overflow_is_survived_without_a_summariser(tmp_path: Path) -> None:
    stage = Stage(tmp_path, lambda messages: says(""), window=100_000)
    stage.talk(8)
    stage.user("go")
    start = len(stage.history.messages) - 1
    overflow = ContextOverflow(ContextTooLarge("too long"), rejected=None, limit=None)
    assert await stage.compactor.after_overflow(start, overflow) is not None
    assert "without a model" in stage.text()
    assert "TALK-0" in stage.text()


async def test_fault_14_a_new_window_takes_the_place_of_a_learned_one(stage: Stage) -> None:
    stage.user("go")
    await stage.compactor.after_overflow(0, ContextOverflow(ContextTooLarge("too long"), rejected=9_000, limit=8_000))
    assert stage.compactor.levels().window == 8_000
    stage.window = 200_000
    assert stage.compactor.levels().window == 200_000


async def test_what_a_compaction_inside_a_turn_started_from_holds_the_request_that_was_due(tmp_path: Path) -> None:
    stage = Stage(tmp_path, window=20_000)
    stage.fill(1, at=1_000)
    stage.talk(7)
    stage.answer(at=12_000)
    stage.user("go " + "word " * 5_500)
    await stage.compactor.before_request(len(stage.history.messages) - 1)
    event = next(event for event in stage.events if event.tier == "full" and event.status == "completed")
    assert event.before is not None
    assert event.after is not None
    assert event.before.count >= 16_000
    assert event.after.count == stage.compactor.projected.count
