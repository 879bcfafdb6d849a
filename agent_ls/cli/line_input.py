"""Lines a person types: edited and remembered where stdin is a terminal, plain lines where it is not."""

from __future__ import annotations

import contextlib
import sys
from typing import Final

import platformdirs

try:
    import readline
except ImportError:  # Windows: its console edits lines by itself
    readline = None  # type: ignore[assignment]  # the one way to say that a module is not there

_HISTORY: Final = "chat_history"
_MOST_HISTORY: Final = 1_000


class LineInput:
    """Reads lines from stdin. `interactive`: stdin is a terminal, so what is asked for is shown."""

    def __init__(self) -> None:
        self.interactive = sys.stdin.isatty()
        self._keeps_history = self.interactive and readline is not None
        self._history = platformdirs.user_state_path("agent-ls", appauthor=False) / _HISTORY
        if self._keeps_history:
            readline.set_auto_history(False)  # answers to questions are no prompts
            with contextlib.suppress(OSError):
                readline.read_history_file(self._history)

    def prompt(self, shown: str) -> str | None:
        """A prompt, kept in the history; None at the end of input. Raises KeyboardInterrupt."""
        text = self.answer(shown)
        if text is not None and text.strip() and self._keeps_history:
            readline.add_history(text)
        return text

    def answer(self, shown: str) -> str | None:
        """An answer, kept nowhere; None at the end of input. Raises KeyboardInterrupt."""
        try:
            return input(shown if self.interactive else "")
        except EOFError:
            return None

    def close(self) -> None:
        """Keep the history, in a file only this person can read."""
        if not self._keeps_history:
            return
        readline.set_history_length(_MOST_HISTORY)
        # A history that cannot be kept is no reason to fail a chat that is over.
        with contextlib.suppress(OSError):
            self._history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._history.touch(mode=0o600)
            readline.write_history_file(self._history)
