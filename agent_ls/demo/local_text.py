"""The demo's words and token counts: the local model's, or canned ones where it is not installed."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent_ls import local_model

_SENTENCE_TOKENS: Final = 32
_SUMMARY_TOKENS: Final = 96
_SUMMARIZED_CHARACTERS: Final = 1_600
_CHARACTERS_PER_TOKEN: Final = 2.3
"""Of the local model's tokenizer in the demo's requests, for where it is not installed."""
_CANNED_SUMMARY: Final = "(No model is installed to write a summary.)"
_EMPTY_SUMMARY: Final = "(The model wrote nothing.)"
_SECONDS: Final = 120
_ASK: Final = "Report this in one sentence:"
_SHOTS: Final = (
    ("a.py is tested and all 3 tests pass.", "a.py is tested and all 3 tests pass."),
    ("report.py prints the report of a day.", "report.py prints the report of a day."),
)
"""A model of this size repeats what it is told only after examples."""


class LocalText:
    """What the local model says, and how its tokenizer counts. Blocking; for threads."""

    def __init__(self) -> None:
        """Start the model if it is installed. Raises ModelUnavailable if it then does not start."""
        self._base = local_model.SERVER.ensure_running().removesuffix("/v1") if local_model.is_installed() else None
        self._counted: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Tokens of a text. A text that comes again is not counted again."""
        if self._base is None:
            return round(len(text) / _CHARACTERS_PER_TOKEN)
        if text not in self._counted:
            self._counted[text] = len(self._post("/tokenize", {"content": text})["tokens"])
        return self._counted[text]

    def sentence(self, say: str) -> str:
        """A sentence to the effect of `say`."""
        if self._base is None:
            return say
        shots = [
            message
            for asked, answered in _SHOTS
            for message in (_message("user", f"{_ASK} {asked}"), _message("assistant", answered))
        ]
        return self._complete([*shots, _message("user", f"{_ASK} {say}")], _SENTENCE_TOKENS) or say

    def summary(self, conversation: str) -> str:
        """A summary of the end of a conversation: more of it than that would take the model minutes. Never empty."""
        if self._base is None:
            return _CANNED_SUMMARY
        asked = f"{conversation[-_SUMMARIZED_CHARACTERS:]}\n\nSummarise in three short sentences what was done above."
        return self._complete([_message("user", asked)], _SUMMARY_TOKENS) or _EMPTY_SUMMARY

    def _complete(self, messages: Sequence[Mapping[str, str]], max_tokens: int) -> str:
        body = {"messages": messages, "max_tokens": max_tokens, "temperature": 0, "seed": 1}
        text: str = self._post("/v1/chat/completions", body)["choices"][0]["message"]["content"]
        return text.strip()

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {local_model.SERVER.api_key}"}
        request = urllib.request.Request(f"{self._base}{path}", json.dumps(body).encode(), headers)
        # No proxy of the environment may see what goes to the loopback.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=_SECONDS) as response:
            return json.load(response)


def _message(role: str, content: str) -> Mapping[str, str]:
    return {"role": role, "content": content}
