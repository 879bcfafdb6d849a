"""What a full compaction keeps (CASCADE §6, §9, §12), over one and over many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    UserPromptPart,
)

from agent_ls.compaction.summary import is_summary
from agent_ls.history import History
from tests.compaction.histories import unpaired
from tests.compactor.stage import Stage
from tests.scripted_model import says


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
    (written,) = summary.parts
    assert isinstance(written, UserPromptPart)
    assert told in str(written.content)  # what a client may show is what the model gets


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


async def test_fault_20_the_record_comes_first_and_the_users_newest_text_last(stage: Stage) -> None:
    stage.fill(10, at=8_500)
    await stage.compactor.at_turn_end()
    stage.user("What is next?")
    record, *_, newest = stage.history.messages
    assert "It is no new task" in str(record)
    assert "What is next?" in str(newest)
    assert "What is next?" not in str(record)


async def test_fault_28_a_big_early_message_is_not_taken_for_tool_output(stage: Stage) -> None:
    stage.user("START-MARKER " + "data " * 3_000 + "Never touch vendor/. " + "data " * 3_000 + "END-MARKER")
    stage.answer()
    stage.fill(8, at=8_500, first=1)
    await stage.compactor.at_turn_end()
    record = str(stage.history.messages[0])
    for marker in ("START-MARKER", "Never touch vendor/.", "END-MARKER"):
        assert marker in record


async def test_what_stands_in_the_tail_is_not_repeated(stage: Stage) -> None:
    stage.fill(10, at=8_500)
    await stage.compactor.at_turn_end()
    assert "PROMPT-9 " in str(stage.history.messages[1:])
    assert "PROMPT-9 " not in str(stage.history.messages[0])


async def test_the_previous_record_is_carried_on(stage: Stage) -> None:
    stage.fill(10, at=8_500)
    await stage.compactor.at_turn_end()
    stage.fill(10, at=8_500, first=10)
    await stage.compactor.at_turn_end()
    assert "<record>" in str(stage.requests[1])
    assert "Keep the inventory right." in str(stage.requests[1])
    assert str(stage.requests[1]).count("PROMPT-0 ") == 0, "what code carries is not summarised again"
    assert "PROMPT-0 " in str(stage.history.messages[0])


async def test_skeleton_and_lists_share_the_summarys_budget(tmp_path: Path) -> None:
    stage = Stage(tmp_path, lambda messages: says("## Goal\n" + "- another thing to be done in time\n" * 2_000))
    for number in range(60):
        stage.user("x " * 300)
        stage.round({f"src/package/with/a/long/name/module_{number}.py": "value = 1\n"})
        stage.answer()
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"
    text = str(stage.history.messages[0].parts[0].content)  # type: ignore[union-attr]
    record, said = text.split("# What the user said")
    lists = said[said.index("# Files read") :]
    budgets, estimator = stage.compactor.budgets(), stage.compactor.measure.estimator
    frame = 80
    assert estimator.text(record) + estimator.text(lists) <= budgets.summary + frame
    assert "module_" in lists


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    window=st.sampled_from([8_192, 16_384, 32_768, 200_000]),
    fixed=st.integers(0, 8),
    prompts=st.integers(20, 60),
    words=st.integers(1, 300),
    answer=st.sampled_from(["The session went well.", "## Goal\n" + "- another thing to be done in time\n" * 2_000]),
)
async def test_a_compacted_history_lands_under_the_micro_level(
    tmp_path_factory: pytest.TempPathFactory, window: int, fixed: int, prompts: int, words: int, answer: str
) -> None:
    stage = Stage(tmp_path_factory.mktemp("lands"), lambda messages: says(answer), window=window)
    stage.compactor.measure.carries(window * fixed // 100)
    for number in range(prompts):
        stage.user(f"prompt {number}: always say why. " + "word " * words)
        stage.round({f"src/package/module_{number}.py": "value = compute(value)\n" * 60})
        stage.answer("it computes values " * 20)
    if (await stage.compactor.by_hand(None)).outcome == "compacted":
        assert stage.compactor.used.count < stage.compactor.levels().micro
    stage.history.close()
