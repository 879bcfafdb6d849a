"""How a conversation looks in a plain terminal: shared by `chat` and `demo`."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final, TextIO

Json = Mapping[str, Any]

_STYLES: Final = {
    "dim": "2",
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
_MARKS: Final = {"completed": ("✓", "green"), "failed": ("✗", "red")}
_MOST_DIFF_LINES: Final = 24


class Terminal:
    """Writes a conversation to a stream; colours on a terminal only, and not where NO_COLOR is set."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._colours = self._stream.isatty() and "NO_COLOR" not in os.environ
        self._at_line_start = True
        self._titles: dict[str, str] = {}

    @property
    def width(self) -> int:
        """Columns to use."""
        return min(shutil.get_terminal_size((88, 24)).columns, 100)

    def style(self, text: str, *names: str) -> str:
        """`text` in these styles where colours are on."""
        if not self._colours or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[name] for name in names)}m{text}\x1b[0m"

    def line(self, text: str = "", *styles: str) -> None:
        """A line of its own."""
        self.end_line()
        self._write(self.style(text, *styles) + "\n")

    def paragraph(self, text: str, *styles: str) -> None:
        """Text, wrapped."""
        for line in textwrap.wrap(text, self.width) or [""]:
            self.line(line, *styles)

    def end_line(self) -> None:
        """Begin a new line unless one has begun."""
        if not self._at_line_start:
            self._write("\n")

    def update(self, update: Json) -> None:
        """Show one `agent/update`; the user's own words are not repeated."""
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": {"text": text}}:
                self._write(text)
            case {"sessionUpdate": "agent_thought_chunk", "content": {"text": text}}:
                self._write(self.style(text, "dim"))
            case {"sessionUpdate": "tool_call", "toolCallId": identifier, "title": title}:
                self._titles[identifier] = title
                self.line(f"· {title}", "cyan")
            case {"sessionUpdate": "tool_call_update", "toolCallId": identifier, "status": status} if status in _MARKS:
                mark, colour = _MARKS[status]
                self.line(f"{mark} {self._titles.get(identifier, 'done')}", colour)
            case {"sessionUpdate": "plan", "entries": entries}:
                boxes = {"pending": "[ ]", "in_progress": "[-]", "completed": "[x]"}
                for entry in entries:
                    self.line(f"  {boxes.get(entry['status'], '[ ]')} {entry['content']}")
            case _:
                return

    def diff(self, content: Sequence[Json]) -> None:
        """Show the diffs among a tool call's content."""
        for item in content:
            if item.get("type") != "diff":
                continue
            old, new, path = (item.get("oldText") or "").splitlines(), item["newText"].splitlines(), item["path"]
            lines = list(difflib.unified_diff(old, new, path, path, lineterm="", n=2))
            for line in lines[:_MOST_DIFF_LINES]:
                self.line(f"    {line}", *self._diff_styles(line))
            if len(lines) > _MOST_DIFF_LINES:
                self.line(f"    … {len(lines) - _MOST_DIFF_LINES} more lines", "dim")

    def gauge(self, gauge: Json) -> str:
        """The gauge as one line: a bar, the text, the numbers."""
        cells = 24
        filled = round(gauge["fraction"] * cells)
        marks = ["█" if cell < filled else "░" for cell in range(cells)]
        colour = {"green": "green", "yellow": "yellow", "red": "red"}[gauge["color"]]
        used = gauge["used"]
        about = "~" if used["basis"] == "estimated" and used["count"] else ""
        bar = self.style("".join(marks), colour)
        return f"{bar} {gauge['text']}  {about}{used['count']:,} of {gauge['window']:,} tokens"

    def compaction(self, event: Json) -> None:
        """Show how a tier ended."""
        name = "microcompaction" if event["tier"] == "micro" else "full compaction"
        if event["status"] == "started":
            self.line(f"~ {name}: the model is writing a summary …", "yellow")
        elif event["status"] == "completed":
            sizes = f"{event['before']['count']:,} → ~{event['after']['count']:,} tokens"
            what = (
                f"{event['partsElided']} tool outputs blanked"
                if event["tier"] == "micro"
                else "summary and recent tail kept"
            )
            self.line(f"~ {name} ({event['trigger']}): {sizes}; {what}", "yellow")
        else:
            self.line(f"~ {name} {event['status']}: {event.get('reason', '')}", "yellow")

    def _diff_styles(self, line: str) -> Sequence[str]:
        if line.startswith(("+++", "---", "@@")):
            return ("dim",)
        return ("green",) if line.startswith("+") else ("red",) if line.startswith("-") else ()

    def _write(self, text: str) -> None:
        if text:
            self._stream.write(text)
            self._stream.flush()
            self._at_line_start = text.endswith("\n")
