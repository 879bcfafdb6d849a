"""Whether what the user said is still there: verbatim in a request, or given back by `recall` (CASCADE §12)."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any, Final

from attrs import define, field

from benchmarks.replay.performance import Conversation
from tests.simulator import RecordedRequest, Reply, ToolCall

QUESTION: Final = "What did I ask you to do, from the beginning?"
_MOST_WORDS: Final = 12
_FOUND: Final = re.compile(r"^(message-\d+\.\d+) \(user, ", re.MULTILINE)
_PAGE: Final = re.compile(r"\[message-[\d.]+: characters \d+ to (\d+) of (\d+)[^\n]*\]\n(.*)", re.DOTALL)


@define
class Recalling:
    """A model that looks for the user's texts. `verbatim`, `recalled`, `lost`: what it found where."""

    texts: list[str] = field(factory=list)
    verbatim: list[str] = field(init=False, factory=list)
    recalled: list[str] = field(init=False, factory=list)
    lost: list[str] = field(init=False, factory=list)

    def conversation(self) -> Conversation:
        """Its replies to the question."""
        request = yield Reply("")
        present = request.text
        for text in dict.fromkeys(self.texts):
            if text in present:
                self.verbatim.append(text)
            elif (yield from self._recall(text)):
                self.recalled.append(text)
            else:
                self.lost.append(text)
        while True:
            yield Reply("That is all.")

    def _recall(self, text: str) -> Generator[Reply, RecordedRequest, bool]:
        request = yield _recall(query=" ".join(text.split()[:_MOST_WORDS]))
        for identifier in _FOUND.findall(_last_result(request)):
            whole, end, length = "", 0, 1
            while end < length:
                request = yield _recall(id=identifier, offset=end)
                page = _PAGE.match(_last_result(request))
                if page is None:
                    break
                end, length = int(page[1]), int(page[2])
                whole += page[3]
            if text in whole:
                return True
        return False


def _recall(**arguments: Any) -> Reply:
    return Reply(tool_calls=[ToolCall("recall", arguments)])


def _last_result(request: RecordedRequest) -> str:
    """The text of the newest tool result, in either protocol."""
    content = request.messages[-1].get("content")
    if isinstance(content, str):
        return content
    for block in reversed(content or []):
        if block.get("type") == "tool_result":
            inner = block.get("content")
            return inner if isinstance(inner, str) else "".join(each.get("text", "") for each in inner or ())
    return "".join(block.get("text", "") for block in content or ())
