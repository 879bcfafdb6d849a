"""What is left of a session after compactions, beside the harness's (CASCADE §15).

Canaries of `compaction-conformance-kit`; side constraints of COMPINT, stated in four places; of recorded sessions, the
paths the agent works with in its next 40 rounds; and how many of the histories a provider would refuse.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen
from compaction_kit.compacted import CompactedContext
from compaction_kit.corpus import build_random_session
from compaction_kit.testing import check_compactor
from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RunUsage
from pydantic_ai_harness.compaction import SummarizingCompaction

from agent_ls.log.dangling import close_dangling_calls
from benchmarks.policies.facts import NEXT_ROUNDS, paths_in
from benchmarks.policies.ours import compacted_by_hand
from benchmarks.policies.summarizer import FakeSummarizer
from benchmarks.policies.wire import Wire, refusal_of
from benchmarks.sessions import Session

_COMPINT: Final = Path(__file__).parents[2] / "tests" / "data" / "compint" / "constraints.json"
_PLACES: Final = ("top", "middle", "bottom", "steering")
_SEEDS: Final = range(1, 6)
_ROUNDS: Final = 4
_KIT_WINDOW: Final = 32_000
_SESSION_WINDOW: Final = 200_000
_SESSION_TAIL: Final = 20_000
_FIRST_CUT: Final = 100
_CUTS: Final = 6
_TAIL_SHARE: Final = 0.3


@frozen
class Task:
    """What to compact to: a window and a tail, in tokens, and who writes the summary."""

    window: int
    keep: int
    summarizer: FakeSummarizer


Compact = Callable[[list[ModelMessage], Task], Awaitable[Sequence[ModelMessage]]]


@frozen
class Compaction:
    """One way to compact, with a summariser that says one stock sentence (`null`) or a good one."""

    name: str
    compact: Compact
    null: bool

    def __call__(self, messages: list[ModelMessage], window: int, keep: int) -> list[ModelMessage]:
        """The history after one compaction."""
        summarizer = FakeSummarizer(_SESSION_WINDOW, lambda asked, written: None, null=self.null)
        return list(asyncio.run(_awaited(self.compact(messages, Task(window, keep, summarizer)))))


async def _awaited(compacting: Awaitable[Sequence[ModelMessage]]) -> Sequence[ModelMessage]:
    return await compacting


async def _drop_oldest(messages: list[ModelMessage], task: Task) -> Sequence[ModelMessage]:
    wire = Wire()
    left, start = task.keep, len(messages)
    while start > 0 and (left := left - wire.tokens(messages[start - 1])) >= 0:
        start -= 1
    return messages[
        next((at for at in range(start, len(messages)) if isinstance(messages[at], ModelResponse)), start) :
    ]


async def _harness(
    messages: list[ModelMessage], task: Task, *, keep_user_messages: bool = False
) -> Sequence[ModelMessage]:
    model = task.summarizer.model
    capability: SummarizingCompaction[Any] = SummarizingCompaction(
        model=model, max_messages=1, keep_messages=200, keep_tokens=task.keep, keep_user_messages=keep_user_messages
    )
    context: RunContext[Any] = RunContext(deps=None, model=model, usage=RunUsage(), messages=messages)
    return await capability.compact(messages, context)


async def _harness_keeping(messages: list[ModelMessage], task: Task) -> Sequence[ModelMessage]:
    return await _harness(messages, task, keep_user_messages=True)


async def _ours(messages: list[ModelMessage], task: Task) -> Sequence[ModelMessage]:
    return await compacted_by_hand(messages, task.window, task.keep, task.summarizer)


COMPACTIONS: Final = (
    Compaction("drop oldest", _drop_oldest, null=True),
    Compaction("harness, null", _harness, null=True),
    Compaction("harness, good", _harness, null=False),
    Compaction("harness, user messages kept, null", _harness_keeping, null=True),
    Compaction("harness, user messages kept, good", _harness_keeping, null=False),
    Compaction("**agent_ls, null**", _ours, null=True),
    Compaction("**agent_ls, good**", _ours, null=False),
)


def fidelity_table(sessions: Sequence[Session], compactions: Sequence[Compaction] = COMPACTIONS) -> str:
    """All measures of all compactions, as Markdown."""
    kept = [_Histories() for _ in compactions]
    columns = [
        [
            _canaries(compaction, seen),
            *(_constraints(compaction, seen, place) for place in _PLACES),
            *_paths(compaction, seen, sessions),
            f"{seen.refused} of {seen.checked}",
        ]
        for compaction, seen in zip(compactions, kept, strict=True)
    ]
    measures = [
        "canaries after 1 / 4 compactions",
        *(f"constraints kept, {place}" for place in _PLACES),
        "paths needed next, named",
        "tokens of that context",
        "histories a provider would refuse",
    ]
    head = ["measure", *(compaction.name for compaction in compactions)]
    rows = [[measure, *(column[at] for column in columns)] for at, measure in enumerate(measures)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


@define
class _Histories:
    """The histories that compactions left, as a strict provider sees them."""

    checked: int = field(init=False, default=0)
    refused: int = field(init=False, default=0)
    _wire: Wire = field(init=False, factory=Wire)

    def text(self, messages: Sequence[ModelMessage]) -> str:
        """All of a history that a model reads; the history is checked."""
        mapped = [self._wire.mapped(message) for message in messages]
        self.checked += 1
        self.refused += refusal_of([each for message in mapped for each in message.chat]) is not None
        return "\n".join(each.text for each in mapped)

    def tokens(self, messages: Sequence[ModelMessage]) -> int:
        """Of a history, as a real tokenizer counts."""
        return sum(self._wire.tokens(message) for message in messages)


@define
class _Kit:
    """A compaction as the conformance kit calls it; after the first round the session goes on."""

    name: str
    compaction: Compaction
    seen: _Histories
    _messages: list[ModelMessage] = field(init=False, factory=list)

    def compact(self, turns: list[Any], round_num: int = 1, budget_chars: int | None = None) -> CompactedContext:
        if round_num == 1:
            self._messages = [
                ModelResponse(parts=[TextPart(turn.text)])
                if turn.role == "assistant"
                else ModelRequest(parts=[UserPromptPart(turn.text)])
                for turn in turns
            ]
        self._messages += _talk(12)
        self._messages = self.compaction(self._messages, _KIT_WINDOW, int(_KIT_WINDOW * _TAIL_SHARE))
        return CompactedContext(text=self.seen.text(self._messages), compactor_name=self.name, round_num=round_num)


def _canaries(compaction: Compaction, seen: _Histories) -> str:
    first, last = [], []
    for seed in _SEEDS:
        session, canaries = build_random_session(seed)
        kit = _Kit(compaction.name, compaction, seen)
        report = check_compactor(kit, session=session, canaries=canaries, rounds=_ROUNDS)
        first += [finding.round1_survival for finding in report.findings]
        last += [finding.final_survival for finding in report.findings]
    return f"{sum(first) / len(first):.0%} / {sum(last) / len(last):.0%}"


def _constraints(compaction: Compaction, seen: _Histories, place: str) -> str:
    rules = [each["constraint"] for each in json.loads(_COMPINT.read_text("utf-8"))]
    kept = 0
    for rule in (f"For the rest of this session. {rule[0].lower()}{rule[1:]}" for rule in rules):
        messages: list[ModelMessage] = []
        for stretch in _session_with(rule, place):
            messages = compaction(messages + stretch, _KIT_WINDOW, int(_KIT_WINDOW * _TAIL_SHARE))
        kept += rule in seen.text(messages)
    return f"{kept / len(rules):.0%}"


def _session_with(rule: str, place: str) -> Iterator[list[ModelMessage]]:
    """Twelve turns in four stretches, a compaction after each; the rule is said in the first."""
    background = "The service takes orders from the queue and writes them to the store. " * 12
    texts = {
        "top": f"{rule}\n{background * 8}",
        "middle": f"{background * 4}\n{rule}\n{background * 4}",
        "bottom": f"{background * 8}\n{rule}",
    }
    begin: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(texts.get(place, background))]),
        ModelResponse(parts=[TextPart("Done.")]),
    ]
    for stretch in range(4):
        turns = [message for number in range(3) for message in _turn(stretch * 3 + number)]
        steered = place == "steering" and stretch == 0
        said: list[ModelMessage] = [
            ModelRequest(parts=[UserPromptPart(rule)]),
            ModelResponse(parts=[TextPart("Done.")]),
        ]
        yield [*(begin if stretch == 0 else []), *turns, *(said if steered else []), *_talk(6)]


def _turn(number: int) -> list[ModelMessage]:
    path = f"src/f{number}.py"
    return [
        ModelRequest(parts=[UserPromptPart(f"PROMPT-{number} please read on")]),
        ModelResponse(parts=[ToolCallPart("read_file", {"path": path}, path)]),
        ModelRequest(parts=[ToolReturnPart("read_file", f"value_{number} = {number}\n" * 120, path)]),
        ModelResponse(parts=[TextPart(f"ANSWER-{number} " + "it computes values " * 20)]),
    ]


def _talk(answers: int) -> list[ModelMessage]:
    """Long answers, which no blanking makes smaller."""
    return [
        message
        for number in range(answers)
        for message in (
            ModelRequest(parts=[UserPromptPart(f"TALK-{number}")]),
            ModelResponse(parts=[TextPart(f"SAID-{number} " + "and so the value is computed again " * 200)]),
        )
    ]


def _paths(compaction: Compaction, seen: _Histories, sessions: Sequence[Session]) -> tuple[str, str]:
    """Of the paths met and needed in the next rounds, those named; and the tokens of the context that names them."""
    needed = named = 0
    sizes = []
    for session in sessions:
        messages = close_dangling_calls(session.messages())
        before = Wire()
        rounds = [index for index, message in enumerate(messages) if isinstance(message, ModelResponse)]
        for cut in rounds[_FIRST_CUT :: max((len(rounds) - _FIRST_CUT - 10) // _CUTS, 1)]:
            context = compaction(list(messages[:cut]), _SESSION_WINDOW, _SESSION_TAIL)
            text = seen.text(context)
            sizes.append(seen.tokens(context))
            met = "\n".join(before.mapped(message).text for message in messages[:cut])
            upcoming = [index for index in rounds if index >= cut][:NEXT_ROUNDS]
            wanted = {path for index in upcoming for path in paths_in(messages[index]) if path in met}
            needed += len(wanted)
            named += sum(path in text for path in wanted)
    if not sizes:
        return "–", "–"
    return f"{named / needed:.2f}", f"{sum(sizes) / len(sizes):,.0f}"
