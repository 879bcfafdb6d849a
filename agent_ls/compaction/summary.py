"""The summary message: a fixed skeleton, normalised whatever a model wrote, framed as a record (CASCADE §6)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen
from markdown_it import MarkdownIt
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, UserPromptPart

from agent_ls.compaction.carried import Carried, carried_from_json

TITLE: Final = "# Conversation summary"
SECTIONS: Final = (
    "## Goal",
    "## Constraints & Preferences",
    "## Progress",
    "### Done",
    "### In Progress",
    "### Blocked",
    "## Key Decisions",
    "## Next Steps",
    "## Critical Context",
)
_WITHOUT_TEXT: Final = frozenset({"## Progress"})
_FOREIGN: Final = "## Critical Context"
_NONE: Final = "None"

_METADATA: Final = "agent_ls_summary"

_FRAME: Final = (
    "[This is a record of the earlier part of this conversation, made to save room. It is no new task: refer to it, "
    "and act on what the user asks after it. Its source can be searched in full with the tool `recall`.]"
)


class NoSummary(ValueError):
    """What came back is no summary; the message says why."""


@frozen
class Summary:
    """The text under each heading of SECTIONS that takes text; "None" where there is nothing."""

    sections: Mapping[str, str]

    def render(self) -> str:
        """The skeleton, headings in order and no others."""
        lines = [TITLE]
        for heading in SECTIONS:
            lines += ["", heading]
            if heading not in _WITHOUT_TEXT:
                lines.append(self.sections.get(heading) or _NONE)
        return "\n".join(lines)

    def clipped(self, fits: Callable[[str], bool]) -> Summary:
        """The summary with lines taken from its longest section until `fits` its rendering."""
        sections = {heading: text.splitlines() for heading, text in self.sections.items()}
        summary = self
        while not fits(summary.render()) and any(len(lines) > 1 for lines in sections.values()):
            longest = max(sections, key=lambda heading: sum(map(len, sections[heading])))
            lines = sections[longest]
            cut = max(len(lines) // 8, 1)
            middle = len(lines) // 2
            sections[longest] = [*lines[: middle - cut // 2], *lines[middle - cut // 2 + cut :]]
            summary = Summary({heading: "\n".join(lines) for heading, lines in sections.items()})
        if fits(summary.render()):
            return summary
        shortest = {heading: text[:400] for heading, text in summary.sections.items()}
        return Summary(shortest)


def parse_summary(text: str) -> Summary:
    """The summary in a model's answer. Raises NoSummary if it holds nothing.

    Text before the first known heading, under foreign headings or under the title goes to Critical Context; a heading
    inside a code fence is text.
    """
    if not text.strip():
        raise NoSummary("the answer was empty")
    lines = text.splitlines()
    found: dict[str, list[str]] = {}
    foreign: list[str] = []
    current = foreign
    headings = _headings(text)
    for number, line in enumerate(lines):
        heading = headings.get(number)
        if heading is None:
            current.append(line)
        elif heading == TITLE:
            current = foreign
        elif heading in SECTIONS and heading not in _WITHOUT_TEXT:
            current = found.setdefault(heading, [])
        elif heading in _WITHOUT_TEXT:
            current = foreign
        else:
            current = foreign
            foreign.append(line.lstrip("# ").strip())
    sections = {heading: _text(found.get(heading, [])) for heading in SECTIONS if heading not in _WITHOUT_TEXT}
    stray = _text(foreign)
    if stray != _NONE:
        sections[_FOREIGN] = stray if sections[_FOREIGN] == _NONE else f"{sections[_FOREIGN]}\n{stray}"
    if all(text == _NONE for text in sections.values()):
        raise NoSummary("the answer said nothing under any heading")
    return Summary(sections)


def _headings(text: str) -> dict[int, str]:
    """Line number -> heading as the skeleton spells it."""
    known = {_fold(heading): heading for heading in (TITLE, *SECTIONS)}
    tokens = MarkdownIt().parse(text)
    found = {}
    for token, content in itertools.pairwise(tokens):
        if token.type == "heading_open" and token.map is not None and token.markup.startswith("#"):
            spelled = f"{token.markup} {content.content.strip()}"
            found[token.map[0]] = known.get(_fold(spelled), spelled)
    return found


def _fold(heading: str) -> str:
    return heading.strip("# :*").casefold()


def _text(lines: Sequence[str]) -> str:
    text = "\n".join(lines).strip()
    return text or _NONE


def summary_message(
    summary: Summary, carried: Carried, carried_text: str, prompt: Sequence[ModelRequestPart] = ()
) -> ModelRequest:
    """Element 0 of a compacted history. `prompt`: the parts of the running turn's prompt, kept as they are (§9)."""
    text = f"{_FRAME}\n\n{summary.render()}"
    if carried_text:
        text = f"{text}\n\n{carried_text}"
    return ModelRequest(
        parts=[UserPromptPart(text), *prompt],
        metadata={_METADATA: {"carried": carried.to_json()}},
    )


def is_summary(message: ModelMessage) -> bool:
    """Whether a message is the summary message of a checkpoint."""
    return isinstance(message, ModelRequest) and _METADATA in (message.metadata or {})


def carried_in(message: ModelMessage) -> Carried:
    """What a summary message carries; nothing for any other."""
    stored: Any = (message.metadata or {}).get(_METADATA) if isinstance(message, ModelRequest) else None
    return carried_from_json(stored.get("carried") if isinstance(stored, Mapping) else None)


def own_parts(message: ModelMessage) -> Sequence[Any]:
    """A message's parts without the summary's own text: what the user or the agent put there."""
    return message.parts[1:] if is_summary(message) else message.parts
