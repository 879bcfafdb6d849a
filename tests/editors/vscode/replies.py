"""What the simulated model answers in the journey through VS Code (journey.test.mjs)."""

from __future__ import annotations

from typing import Final

from agent_ls.compaction.summary import TITLE
from tests.simulator import Outcome, RecordedRequest, Reply, ToolCall

SUMMARY: Final = f"""\
{TITLE}

## Goal
Make `greet` say hello by name.

## Constraints & Preferences
Its callers stay as they are.

## Progress
### Done
- `greet.py` says `Hello, {{name}}!`

### In Progress
None

### Blocked
None

## Key Decisions
None

## Next Steps
None

## Critical Context
`src/app.py` is the only caller.
"""

ANSWER: Final = """\
`greet` says **Hello** and the name now:

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"
```

Its caller in [app.py](src/app.py:3) needs no change.
"""

UNSAVED: Final = "# called by src/app.py"
"""Typed into `greet.py` before the agent reads it, and not saved."""

_LINES: Final = [f"{number}. The greeting is used here and in test number {number}.\n" for number in range(1, 281)]
LONG_ANSWER: Final = ["".join(_LINES[start : start + 5]) for start in range(0, 280, 5)]


def reply(request: RecordedRequest) -> Outcome:
    """One answer to each kind of request the journey makes; by what was asked, not by order."""
    if "You write the record of a coding session" in request.text:
        return Reply(SUMMARY)
    if "Write ONE sentence" in request.text:
        return Reply("Made greet say hello by name.")
    last = request.messages[-1]
    # OpenAI's way and Anthropic's to carry a tool's result.
    if last["role"] == "tool" or "tool_result" in str(last["content"]):
        if "greet.py" in request.text and UNSAVED not in request.text:
            return Reply("The text that is not saved was not seen.")
        return Reply("They said no: not on this machine." if "not on this machine" in str(last) else ANSWER)
    prompt = last["content"] if isinstance(last["content"], str) else str(last["content"][-1]["text"])
    if "say hello" in prompt:
        edit = {"path": "greet.py", "old_text": 'return f"Hi {name}"', "new_text": 'return f"Hello, {name}!"'}
        return Reply(
            "I will look at the file and change the greeting.",
            tool_calls=[ToolCall("read_file", {"path": "greet.py"}), ToolCall("edit_file", edit)],
        )
    if "run it" in prompt:
        # Slow enough that the chat is hidden before the question comes.
        call = ToolCall("run_command", {"command": "python alpha.py"})
        return Reply([f"Part {part}. " for part in range(1, 7)], tool_calls=[call], seconds_between_events=0.2)
    if "slowly" in prompt:
        return Reply(LONG_ANSWER, seconds_between_events=0.2)
    if "every use" in prompt:
        return Reply(LONG_ANSWER, seconds_between_events=0.01)
    return Reply(f"You asked about: {prompt[:200]}")
