"""Public conformance kits, run on a real compaction with a summariser that says nothing (CASCADE §15).

`compaction-conformance-kit` plants canaries in a session and looks for them in what a compaction leaves; COMPINT
(tests/data/compint) has the side constraints that a user states once, at the top, in the middle, at the bottom, or
while the agent works.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from compaction_kit.compacted import CompactedContext
from compaction_kit.corpus import build_random_session
from compaction_kit.testing import assert_no_flags, check_compactor
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart

from agent_ls.compaction.carried import text_of
from tests.compactor.stage import Stage
from tests.scripted_model import says

COMPINT = Path(__file__).parents[1] / "data" / "compint" / "constraints.json"
CONSTRAINTS = [each["constraint"] for each in json.loads(COMPINT.read_text())]
STOCK = "The session went well."
WINDOW = 32_000


def context_of(messages: Sequence[ModelMessage]) -> str:
    """What a model reads of a history."""
    texts = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                texts.append(text_of(part.content))
            elif isinstance(part, TextPart):
                texts.append(part.content)
            elif isinstance(part, ToolCallPart):
                texts.append(part.args_as_json_str())
            else:
                texts.append(str(getattr(part, "content", "")))
    return "\n".join(texts)


def turns_of(turns: Sequence[Any]) -> list[ModelMessage]:
    """The kit's turns as a conversation; what its user says comes from the user here."""
    return [
        ModelResponse(parts=[TextPart(turn.text)])
        if turn.role == "assistant"
        else ModelRequest(parts=[UserPromptPart(turn.text)])
        for turn in turns
    ]


class Kit:
    """Our cascade as the kit calls it. A round after the first goes on in the same session, as a real one does."""

    name = "agent_ls"

    def __init__(self, folder: Path) -> None:
        self.stage = Stage(folder, lambda messages: says(STOCK), window=WINDOW)

    def compact(self, turns: list[Any], round_num: int = 1, budget_chars: int | None = None) -> Any:
        if round_num == 1:
            self.stage.history.append(*turns_of(turns))
        self.stage.talk(12)
        report = asyncio.run(self.stage.compactor.by_hand(None))
        assert report.outcome == "compacted", report
        text = context_of(self.stage.history.messages)
        return CompactedContext(text=text, compactor_name=self.name, round_num=round_num)


@pytest.mark.parametrize("seed", [None, *range(1, 6)])
def test_every_canary_survives_four_compactions_with_a_summariser_that_says_nothing(
    tmp_path: Path, seed: int | None
) -> None:
    session, canaries = (None, None) if seed is None else build_random_session(seed)
    report = check_compactor(Kit(tmp_path), session=session, canaries=canaries, rounds=4)
    assert_no_flags(report)
    for finding in report.findings:
        assert finding.round1_survival == finding.final_survival == 1.0, finding


@pytest.mark.parametrize("place", ["top", "middle", "bottom", "steering"])
@pytest.mark.parametrize("window", [8_000, 32_000])
async def test_every_constraint_is_kept_with_a_summariser_that_says_nothing(
    tmp_path: Path, place: str, window: int
) -> None:
    for number, constraint in enumerate(CONSTRAINTS):
        # As COMPINT frames it: direct, not strict.
        rule = f"For the rest of this session. {constraint[0].lower()}{constraint[1:]}"
        folder = tmp_path / str(number)
        folder.mkdir()
        stage = Stage(folder, lambda messages: says(STOCK), window=window)
        background = "The service takes orders from the queue and writes them to the store. " * 12
        texts = {"top": rule + "\n" + background * 8, "bottom": background * 8 + "\n" + rule}
        texts["middle"] = f"{background * 4}\n{rule}\n{background * 4}"
        stage.user(texts.get(place, background))
        stage.answer()
        for turn in range(12):
            stage.turn(turn)
            if turn == 2 and place == "steering":
                # Said while the agent works: beside the results of a round.
                stage.round({"src/store.py": "value = 1\n" * 40})
                stage.history.append(ModelRequest(parts=[UserPromptPart(rule)]))
                stage.answer()
            if turn % 3 == 2:
                stage.talk(6)
                assert (await stage.compactor.by_hand(None)).outcome == "compacted"
        assert rule in context_of(stage.history.messages), rule
        stage.history.close()


async def test_a_changed_rule_stands_beside_the_new_one_which_is_marked(tmp_path: Path) -> None:
    stage = Stage(tmp_path, lambda messages: says(STOCK))
    stage.user("HARD CONSTRAINT: Budget cap is $300 total. Never exceed without explicit approval.")
    stage.answer()
    stage.fill(4, at=0, first=1)
    stage.user("Update: the budget cap is $750 total now.")
    stage.answer()
    stage.fill(8, at=0, first=5)
    assert (await stage.compactor.by_hand(None)).outcome == "compacted"
    context = context_of(stage.history.messages)
    assert context.index("$300") < context.index("$750")
    assert "in part changed by 6]" in context[: context.index("$300")]
    assert context[: context.index("$750")].rsplit("\n[", 1)[1].startswith("6, ")
    assert "current: changes 1]" in context[: context.index("$750")].rsplit("\n[", 1)[1]
