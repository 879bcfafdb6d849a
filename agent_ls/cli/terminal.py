"""How a conversation looks in a plain terminal: shared by `chat` and `demo`."""

from __future__ import annotations

import difflib
import io
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TextIO

from attrs import define

from agent_ls.tools.terminal_text import as_shown

Json = Mapping[str, Any]

Style = Literal["dim", "bold", "red", "green", "yellow", "blue", "cyan"]

_STYLES: Final[Mapping[Style, str]] = {
    "dim": "2",
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
_BOXES: Final = {"pending": "[ ]", "in_progress": "[-]", "completed": "[x]"}
_TRIGGERS: Final = {
    "turnEnd": "at the end of the turn",
    "guard": "before the next request",
    "overflow": "after the provider refused",
    "manual": "by hand",
}
_PIECES: Final = re.compile(r"\n|[^\S\n]+|\S+")
_GAUGE_CELLS: Final = 25
_FEWEST_GAUGE_CELLS: Final = 10
_WIDEST: Final = 100
_MOST_DIFF_LINES: Final = 200
"""Many: a person is asked to allow what is shown."""
_MOST_RESULT_LINES: Final = 3
_STDOUT: Final = "[stdout]"
"""How the shell tool marks what is no error output: a person expects no other."""
_COUNTED_KINDS: Final = ("read", "edit", "delete", "move")
"""Kinds of tools whose result is told by its length: a person can look at the file."""


@define
class _Call:
    """A tool call on the screen."""

    title: str
    kind: str
    shows_diff: bool = False


class Terminal:
    """Writes a conversation to a stream; colours on a terminal only, and not where NO_COLOR is set.

    What comes from a model or a tool is shown without control characters: it cannot move the cursor.
    """

    def __init__(self, stream: TextIO | None = None, *, most_diff_lines: int = _MOST_DIFF_LINES) -> None:
        self._stream = stream or sys.stdout
        if isinstance(self._stream, io.TextIOWrapper):
            self._stream.reconfigure(errors="replace")  # a terminal that has no ● is shown a question mark
        self.is_terminal = self._stream.isatty()
        self._colours = self.is_terminal and not os.environ.get("NO_COLOR")
        self._most_diff_lines = most_diff_lines
        self._at_line_start = True
        self._streams: Literal["text", "thought"] | None = None
        self._column = 0
        self._word = ""
        self._calls: dict[str, _Call] = {}
        self._newest_call = ""
        self._running: set[str] = set()

    @property
    def width(self) -> int:
        """Columns to use."""
        return max(min(shutil.get_terminal_size((88, 24)).columns, _WIDEST), 20)

    def style(self, text: str, *names: Style) -> str:
        """`text` in these styles where colours are on."""
        if not self._colours or not text or not names:
            return text
        return f"\x1b[{';'.join(_STYLES[name] for name in names)}m{text}\x1b[0m"

    def line(self, text: str = "", *styles: Style) -> None:
        """A line of its own."""
        self.end_line()
        self._write(self.style(text, *styles) + "\n")

    def paragraph(self, text: str, *styles: Style, first: str = "", indent: str = "") -> None:
        """Text, wrapped; its first line begins with `first`, the others with `indent`."""
        for line in textwrap.wrap(text, self.width, initial_indent=first, subsequent_indent=indent) or [""]:
            self.line(line, *styles)

    def end_line(self) -> None:
        """Begin a new line unless one has begun."""
        if self._streams is not None:
            self._put_word()
        self._streams = None
        if not self._at_line_start:
            self._write("\n")

    # --- a conversation -----------------------------------------------------------------------------------------------

    def user(self, prompt: str) -> None:
        """What the person said, and of a long prompt how much more."""
        self._newest_call = ""
        self._running.clear()
        first, _, rest = as_shown(prompt).partition("\n")
        more = f" {_more(rest.count(chr(10)) + 1)}" if rest else ""
        self.paragraph(first + more, "bold", first="> ", indent="  ")

    def update(self, update: Json) -> None:
        """Show one `agent/update`; the user's own words are not repeated."""
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": {"text": text}}:
                self._stream_on("text", as_shown(text))
            case {"sessionUpdate": "agent_thought_chunk", "content": {"text": text}}:
                self._stream_on("thought", as_shown(text))
            case {"sessionUpdate": "tool_call", "toolCallId": identifier, "title": title, "kind": kind}:
                known = self._calls.get(identifier)
                self._calls[identifier] = _Call(title, kind, known is not None and known.shows_diff)
                if known is None:
                    self._begin_call(identifier)
            case {"sessionUpdate": "tool_call_update", "toolCallId": identifier}:
                self._call_changed(identifier, update)
            case {"sessionUpdate": "plan", "entries": entries}:
                for entry in entries:
                    self.line(f"  {_BOXES.get(entry['status'], '[ ]')} {as_shown(entry['content'])}", "dim")
            case _:
                return

    def question(self, tool_call: Json) -> None:
        """What permission is asked for: the call, and the change it would make."""
        identifier = tool_call["toolCallId"]
        if identifier not in self._calls:
            self._calls[identifier] = _Call(tool_call["title"], tool_call.get("kind", "other"))
            self._begin_call(identifier)
        self._diffs(identifier, tool_call.get("content") or [])
        self.line(f"  ? {self._calls[identifier].title}: allow it?", "yellow")

    def gauge(self, gauge: Json) -> str:
        """The gauge as one line: a bar with a mark at each tier, the text, the numbers."""
        about = "~" if gauge["used"]["basis"] == "estimated" and gauge["used"]["count"] else ""
        numbers = f"{gauge['text']} ({about}{gauge['used']['count']:,} of {gauge['window']:,} tokens)"
        size = max(min(_GAUGE_CELLS, self.width - len(numbers) - 1), _FEWEST_GAUGE_CELLS)
        filled = math.floor(gauge["fraction"] * size)
        cells = ["█" if cell < filled else "░" for cell in range(size)]
        for tier in gauge["tiers"]:
            at = min(tier["at"] * size // max(gauge["window"], 1), size - 1)
            cells[at] = "┃" if at < filled else "│"
        return f"{self.style(''.join(cells), gauge['color'])} {numbers}"

    def compaction(self, event: Json) -> None:
        """Show that a tier started, or how it ended."""
        name = "microcompaction" if event["tier"] == "micro" else "full compaction"
        when = _TRIGGERS.get(event["trigger"], event["trigger"])
        if (event["tier"], event["trigger"]) == ("micro", "manual"):
            # Nobody can ask for one; what an undo brings back is too much as it was.
            when = "after the undo"
        match event["status"]:
            case "started":
                self._marked(f"{name} {when}: a model writes a summary …")
            case "completed":
                what = (
                    f"{event['partsElided']} tool outputs blanked"
                    if event["tier"] == "micro"
                    else f"{event['messagesCovered']} messages summarised"
                )
                sizes = f"{_tokens(event['before'])} → {_tokens(event['after'])} tokens"
                self._marked(f"{name} {when}: {what}, {sizes}")
            case ended:
                reason = f": {as_shown(event['reason'])}" if event.get("reason") else ""
                self._marked(f"{name} {ended}{reason}")

    def _marked(self, text: str) -> None:
        self.paragraph(text, "yellow", first="▼ ", indent="  ")

    # --- parts of it --------------------------------------------------------------------------------------------------

    def _stream_on(self, kind: Literal["text", "thought"], text: str) -> None:
        if self._streams != kind:
            self.end_line()
            self._column = 0
        self._streams = kind
        self._newest_call = ""
        if not self.is_terminal:
            self._write(text)
            return
        # A terminal would break a line within a word. A word is shown once it is known to fit.
        for piece in _PIECES.findall(text):
            if not piece.isspace():
                self._word += piece
                continue
            self._put_word()
            self._column = 0 if piece == "\n" else self._column + len(piece)
            if self._column < self.width:
                self._write(piece)

    def _put_word(self) -> None:
        word, self._word = self._word, ""
        if self._column + len(word) > self.width and self._column > 0:
            self._write("\n")
            self._column = 0
        self._column += len(word)
        self._write(self.style(word, "dim") if self._streams == "thought" else word)

    def _begin_call(self, identifier: str) -> None:
        self.line(f"● {self._calls[identifier].title}", "cyan")
        self._newest_call = identifier
        self._running.add(identifier)

    def _call_changed(self, identifier: str, update: Json) -> None:
        call = self._calls.setdefault(identifier, _Call(update.get("title") or "", "other"))
        content = update.get("content") or []
        self._diffs(identifier, content)
        if update.get("status") not in ("completed", "failed"):
            return
        failed = update["status"] == "failed"
        lines = [
            line
            for item in content
            if item.get("type") == "content" and item["content"].get("type") == "text"
            for line in as_shown(item["content"]["text"]).splitlines()
            if line.strip() and line != _STDOUT
        ]
        shown = self._result(call, lines, failed)
        if self._newest_call != identifier or len(self._running) > 1:
            shown[0] = f"{call.title}: {shown[0]}"
        for number, line in enumerate(shown):
            mark = f"  {'└' if number == 0 else ' '} "
            if failed:
                self.paragraph(line, "red", first=mark, indent=" " * len(mark))
            else:
                self.line(_clipped(f"{mark}{line}", self.width), "dim")
        self._newest_call = ""
        self._running.discard(identifier)

    def _result(self, call: _Call, lines: Sequence[str], failed: bool) -> list[str]:
        if not lines:
            return ["failed" if failed else "done"]
        if call.kind in _COUNTED_KINDS and not failed:
            return [f"{len(lines)} lines" if len(lines) > 1 else lines[0]]
        left = len(lines) - _MOST_RESULT_LINES
        return [*lines[:_MOST_RESULT_LINES], *([_more(left)] if left > 0 else [])]

    def _diffs(self, identifier: str, content: Sequence[Json]) -> None:
        diffs = [item for item in content if item.get("type") == "diff"]
        call = self._calls.get(identifier)
        if not diffs or call is None or call.shows_diff:
            return
        call.shows_diff = True
        for item in diffs:
            old, new = (item.get("oldText") or "").splitlines(), item["newText"].splitlines()
            # The first two lines name the file, which the title does.
            lines = list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
            for line in lines[: self._most_diff_lines]:
                self.line(f"    {as_shown(line)}", *_diff_style(line))
            if (left := len(lines) - self._most_diff_lines) > 0:
                self.line(f"    {_more(left)}", "dim")

    def _write(self, text: str) -> None:
        if text:
            self._stream.write(text)
            self._stream.flush()
            self._at_line_start = text.endswith("\n")


def _diff_style(line: str) -> Sequence[Style]:
    match line[:1]:
        case "+":
            return ("green",)
        case "-":
            return ("red",)
        case "@":
            return ("dim",)
        case _:
            return ()


def _clipped(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _more(lines: int) -> str:
    return f"… {lines} more line{'s' if lines > 1 else ''}"


def _tokens(tokens: Json) -> str:
    return f"{'~' if tokens['basis'] == 'estimated' else ''}{tokens['count']:,}"
