"""A command's output as a terminal would leave it on the screen: without escapes and overwritten progress bars."""

from __future__ import annotations

import re
from typing import Final

# Each alternative ends at the next character it cannot take, so the time stays linear in the text.
_ESCAPE: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movements
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC and other strings: titles, links, clipboard
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


def as_shown(text: str) -> str:
    """`text` without escape sequences and control characters; of a line written over, what was written last."""
    lines = _ESCAPE.sub("", text).split("\n")
    return _CONTROL.sub("", "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines))
