"""What an agent needs of its past, as exact texts: the oracle that looks for them in every request.

A fact is present in a request if its exact text is. Which facts count at a request is decided by the recording alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, get_args

from attrs import define, field, frozen
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from benchmarks.policies.wire import Wire

Kind = Literal["rule", "path", "error", "decision"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

RULE: Final = re.compile(r"\b(never|always|must|for the rest of this session|from now on|make sure|only ever)\b", re.I)
ERROR: Final = re.compile(r"\b\w*(error|exception|failed|failure|traceback|fatal|cannot|not found)\b", re.I)
DECISION: Final = re.compile(
    r"\b(i'll|i will|let's|let me|decided|instead of|root cause|the (fix|problem|issue) is|we should|because)\b", re.I
)
PATH: Final = re.compile(r"[\w.~-]*/[\w./~-]+\.\w{1,6}\b")

_PATH_ARGUMENTS: Final = ("path", "file_path", "notebook_path")
NEXT_ROUNDS: Final = 40
"""A path counts while the agent uses it within so many rounds to come, and has met it (CASCADE §15)."""
_NEWEST_ERRORS: Final = 3
_NEWEST_DECISIONS: Final = 10
LAST_OUTPUTS: Final = 10
_LONGEST: Final = 160


@frozen
class Fact:
    """An exact text that counts from the message at `since` on."""

    kind: Kind
    text: str
    since: int


@define
class Oracle:
    """What counts at each message of a recording."""

    messages: Sequence[ModelMessage]
    wire: Wire
    _facts: Mapping[Kind, Sequence[Fact]] = field(init=False)
    _paths_at: Mapping[int, frozenset[str]] = field(init=False)
    _found: dict[int, tuple[object, frozenset[str]]] = field(init=False, factory=dict)
    _texts: tuple[str, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        found = [fact for index, message in enumerate(self.messages) for fact in _facts_in(index, message)]
        self._facts = {kind: _first_of_each(fact for fact in found if fact.kind == kind) for kind in KINDS}
        self._paths_at = {
            index: frozenset(paths_in(message)) for index, message in enumerate(self.messages) if paths_in(message)
        }
        texts = {fact.text for facts in self._facts.values() for fact in facts}
        self._texts = tuple(sorted(texts.union(*self._paths_at.values())))

    def due(self, at: int) -> Mapping[Kind, Sequence[str]]:
        """The facts of each kind that count at the request which the message at `at` answers."""
        said = {kind: [fact.text for fact in facts if fact.since < at] for kind, facts in self._facts.items()}
        met = {fact.text for fact in self._facts["path"] if fact.since < at}
        rounds = [index for index in range(at, len(self.messages)) if isinstance(self.messages[index], ModelResponse)]
        upcoming = {path for index in rounds[:NEXT_ROUNDS] for path in self._paths_at.get(index, ())}
        return {
            "rule": said["rule"],
            "path": sorted(met & upcoming),
            "error": said["error"][-_NEWEST_ERRORS:],
            "decision": said["decision"][-_NEWEST_DECISIONS:],
        }

    def last_outputs(self, at: int) -> list[str]:
        """The newest tool outputs before the message at `at`, as they were sent first."""
        outputs: list[str] = []
        for index in range(at - 1, -1, -1):
            message = self.messages[index]
            if isinstance(message, ModelRequest):
                outputs += reversed(self.wire.mapped(message).results)
            if len(outputs) >= LAST_OUTPUTS:
                break
        return outputs[:LAST_OUTPUTS]

    def present(self, message: ModelMessage) -> frozenset[str]:
        """The facts whose exact text is in a message."""
        known = self._found.get(id(message.parts))
        if known is None:
            text = self.wire.mapped(message).text
            known = (message.parts, frozenset(fact for fact in self._texts if fact in text))
            self._found[id(message.parts)] = known
        return known[1]


def _facts_in(index: int, message: ModelMessage) -> Iterator[Fact]:
    if isinstance(message, ModelResponse):
        for said in message.parts:
            if isinstance(said, TextPart):
                yield from (Fact("decision", line, index) for line in _lines(said.content, DECISION))
        yield from (Fact("path", path, index) for path in paths_in(message))
        return
    for part in message.parts:
        if isinstance(part, UserPromptPart) and isinstance(part.content, str):
            yield from (Fact("rule", line, index) for line in _lines(part.content, RULE))
        elif isinstance(part, ToolReturnPart):
            output = part.model_response_str()
            failed = part.outcome != "success" or "exit code" in output.casefold()
            if failed and (lines := _lines(output, ERROR)):
                yield Fact("error", lines[-1], index)


def _lines(text: str, pattern: re.Pattern[str]) -> list[str]:
    return [line.strip()[:_LONGEST] for line in text.splitlines() if len(line.strip()) > 8 and pattern.search(line)]


def paths_in(message: ModelMessage) -> set[str]:
    """Paths in the arguments of calls, spelled as JSON spells them."""
    paths = set()
    for part in message.parts if isinstance(message, ModelResponse) else ():
        if isinstance(part, ToolCallPart):
            arguments = part.args_as_dict()
            paths |= {json.dumps(arguments[name])[1:-1] for name in _PATH_ARGUMENTS if arguments.get(name)}
    return paths


def _first_of_each(facts: Iterator[Fact]) -> list[Fact]:
    first: dict[str, Fact] = {}
    for fact in facts:
        first.setdefault(fact.text, fact)
    return list(first.values())
