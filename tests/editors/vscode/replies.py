"""What the simulated model answers in the journey through VS Code (journey.test.mjs)."""

from __future__ import annotations

from typing import Final

from tests.simulator import Outcome, RecordedRequest, Reply, ToolCall

SUMMARY: Final = """\
# Session summary

## Goal
Make `greet` say hello by name.

## Progress
- `greet.py` now says `Hello`.

## Next Steps
None
"""

ANSWER: Final = """\
`greet` says **Hello** and the name now:

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"
```

Its caller in [app.py](src/app.py:3) needs no change.
"""

_LINES: Final = [f"{number}. The greeting is used here and in test number {number}.\n" for number in range(1, 281)]
LONG_ANSWER: Final = ["".join(_LINES[start : start + 5]) for start in range(0, 280, 5)]


def reply(request: RecordedRequest) -> Outcome:
    """One answer to each kind of request the journey makes; by what was asked, not by order."""
    if "You write the record of a coding session" in request.text:
        return Reply(SUMMARY)
    if "Write ONE sentence" in request.text:
        return Reply("Made greet say hello by name.")
    last = request.messages[-1]
    if last["role"] == "tool":
        return Reply(ANSWER)
    prompt = str(last["content"])
    if "say hello" in prompt:
        edit = {"path": "greet.py", "old_text": 'return f"Hi {name}"', "new_text": 'return f"Hello, {name}!"'}
        return Reply(
            "I will look at the file and change the greeting.",
            tool_calls=[ToolCall("read_file", {"path": "greet.py"}), ToolCall("edit_file", edit)],
        )
    if "slowly" in prompt:
        return Reply(LONG_ANSWER, seconds_between_events=0.2)
    if "every use" in prompt:
        return Reply(LONG_ANSWER, seconds_between_events=0.01)
    return Reply(f"You asked about: {prompt[:200]}")
