"""The summary message: a fixed skeleton, normalised whatever a model wrote, framed as a record (CASCADE §6)."""

from __future__ import annotations

import itertools
import re
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

_SHORTEST_SECTIONS: Final = (400, 150, 60, 20)
"""Characters a section keeps when taking out lines was not enough."""
_NEWLINES: Final = re.compile(r"\r\n?")
_THOUGHTS: Final = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_WHOLLY_FENCED: Final = re.compile(r"(?P<mark>`{3,}|~{3,})\w*\n(?P<inside>.*)\n(?P=mark)", re.DOTALL)
_MAY_STAY_OPEN: Final = ("```", "~~~", "<")
_HEADING_TOKENS: Final = ("heading_open", "inline", "heading_close")
_SAYS_SOMETHING: Final = re.compile(r"\w")

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
        """The summary with lines taken from the middle of its longest section until `fits` its rendering.

        Every section keeps its ends, so what is done, open and next all stay for as long as there is room.
        """
        sections = dict(self.sections)
        while not fits(Summary(sections).render()):
            longest = max(sections, key=lambda heading: ("\n" in sections[heading], len(sections[heading])), default="")
            lines = sections.get(longest, "").splitlines()
            if len(lines) < 2:
                break
            cut = max(len(lines) // 4, 1)
            middle = (len(lines) - cut + 1) // 2
            sections[longest] = _text([*lines[:middle], *lines[middle + cut :]])
        summary = Summary({heading: _without_headings(text) for heading, text in sections.items()})
        for most in _SHORTEST_SECTIONS:
            if fits(summary.render()):
                break
            summary = Summary({heading: _shortened(text, most) for heading, text in summary.sections.items()})
        return summary


def parse_summary(text: str) -> Summary:
    """The summary in a model's answer. Raises NoSummary if it holds nothing.

    Text before the first known heading, under foreign headings or under the title goes to Critical Context; a heading
    inside a code fence is text. An answer that is one code fence as a whole is taken out of it; thoughts that a model
    wrote into its answer are left out.
    """
    text = _THOUGHTS.sub("", _NEWLINES.sub("\n", text)).strip()
    if (fenced := _WHOLLY_FENCED.fullmatch(text)) is not None:
        text = fenced["inside"]
    if not text.strip():
        raise NoSummary("the answer was empty")
    found: dict[str, list[str]] = {}
    foreign: list[str] = []
    current = foreign
    headings = _headings(text)
    for number, line in enumerate(text.split("\n")):
        heading = headings.get(number)
        if heading is None:
            current.append(line)
        elif heading in SECTIONS and heading not in _WITHOUT_TEXT:
            current = found.setdefault(heading, [])
        else:
            current = foreign
            if heading != TITLE and heading not in _WITHOUT_TEXT:
                foreign.append(line.lstrip("# ").strip())
    sections = {heading: _text(found.get(heading, [])) for heading in SECTIONS if heading not in _WITHOUT_TEXT}
    stray = _text(foreign)
    if stray != _NONE:
        sections[_FOREIGN] = stray if sections[_FOREIGN] == _NONE else f"{sections[_FOREIGN]}\n{stray}"
    if all(text == _NONE for text in sections.values()):
        raise NoSummary("the answer said nothing under any heading")
    return Summary(sections)


def _headings(text: str) -> dict[int, str]:
    """Line number -> heading as the skeleton spells it; those inside lists, quotes and fences are text."""
    known = {_fold(heading): heading for heading in (TITLE, *SECTIONS)}
    found = {}
    for token, content in itertools.pairwise(MarkdownIt().parse(text)):
        if token.type == "heading_open" and token.level == 0 and token.map is not None and token.markup[0] == "#":
            spelled = f"{token.markup} {content.content.strip()}"
            found[token.map[0]] = known.get(_fold(spelled), spelled)
    return found


def _fold(heading: str) -> str:
    return heading.strip("# :*").casefold()


def _text(lines: Sequence[str]) -> str:
    text = "\n".join(lines).strip()
    if not text or not _SAYS_SOMETHING.search(text):
        return _NONE
    return _closed(text) if any(mark in text for mark in _MAY_STAY_OPEN) else text


def _without_headings(text: str) -> str:
    """The text with headings as plain lines: they stood in a code fence that lost its beginning."""
    headings = _headings(text)
    lines = enumerate(text.split("\n"))
    return "\n".join(line.lstrip("# ") if number in headings else line for number, line in lines)


def _closed(text: str) -> str:
    """The text without a code fence or HTML left open: the headings after it would not read as headings."""
    fences = {token.markup for token in MarkdownIt().parse(text) if token.type == "fence"}
    for end in ("", *sorted(f"\n{fence}" for fence in fences)):
        if _is_closed(f"{text}{end}"):
            return f"{text}{end}"
    return text.replace("```", "'''").replace("~~~", "- - -").replace("<", "‹")


def _is_closed(text: str) -> bool:
    probe = MarkdownIt().parse(f"{text}\n## Probe")
    return len(probe) >= len(_HEADING_TOKENS) and tuple(token.type for token in probe[-3:]) == _HEADING_TOKENS


def _shortened(text: str, most: int) -> str:
    """A section's text in so many characters, without marks that mean something in Markdown."""
    if len(text) <= most:
        return text
    return " ".join(text[:most].replace("`", "").replace("~", "").replace("#", "").split()) or _NONE


def summary_message(
    summary: Summary, carried: Carried, under: str, prompt: Sequence[ModelRequestPart] = ()
) -> ModelRequest:
    """Element 0 of a compacted history.

    `under` is what code adds below the skeleton; `prompt` are the parts of the running turn's prompt, kept as they
    are (§9). What code adds is in the metadata too, so that it is never taken for a model's words later.
    """
    text = f"{_FRAME}\n\n{summary.render()}"
    if under:
        text = f"{text}\n\n{under}"
    stored = {"record": dict(summary.sections), "carried": carried.to_json()}
    return ModelRequest(parts=[UserPromptPart(text), *prompt], metadata={_METADATA: stored})


def is_summary(message: ModelMessage) -> bool:
    """Whether a message is the summary message of a checkpoint."""
    return isinstance(message, ModelRequest) and _METADATA in (message.metadata or {})


def carried_in(message: ModelMessage) -> Carried:
    """What a summary message carries; nothing for any other."""
    return carried_from_json(_stored(message).get("carried"))


def record_in(message: ModelMessage) -> Summary | None:
    """The skeleton of a summary message as it was written; None for any other."""
    record = _stored(message).get("record")
    if not isinstance(record, Mapping):
        return None
    return Summary({heading: str(record[heading]) for heading in SECTIONS if heading in record})


def own_parts(message: ModelMessage) -> Sequence[Any]:
    """A message's parts without the summary's own text: what the user or the agent put there."""
    return message.parts[1:] if is_summary(message) else message.parts


def _stored(message: ModelMessage) -> Mapping[str, Any]:
    stored: Any = (message.metadata or {}).get(_METADATA) if isinstance(message, ModelRequest) else None
    return stored if isinstance(stored, Mapping) else {}
