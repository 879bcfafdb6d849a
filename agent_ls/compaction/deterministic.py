"""A summary without a model (CASCADE §11): what can be read off the messages, when no summariser can help."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from agent_ls.compaction.carried import exit_code_in, text_of
from agent_ls.compaction.summary import Summary

_NOTE: Final = "This record was made without a model, because none could summarise: it lists, it does not explain."
_ERROR: Final = "Error: "
_MOST_CHARACTERS: Final = 600
_MOST_ERRORS: Final = 3
_PLAN_TOOLS: Final = ("update_plan", "write_plan", "TodoWrite")
_NONE: Final = "None"


def deterministic_summary(
    messages: Sequence[ModelMessage], parts_of: Callable[[ModelMessage], Sequence[Any]], previous: Summary | None
) -> Summary:
    """The last prompts, plan, errors and answer; over a previous summary where there is one."""
    known: Mapping[str, str] = {
        heading: text for heading, text in (previous.sections if previous else {}).items() if text != _NONE
    }
    pairs = [(message, part) for message in messages for part in parts_of(message)]
    prompts = [text_of(part.content) for _, part in pairs if isinstance(part, UserPromptPart)]
    errors = [text for _, part in pairs if isinstance(part, ToolReturnPart) and (text := _error(part))]
    answers = [
        part.content for message, part in pairs if isinstance(part, TextPart) and isinstance(message, ModelResponse)
    ]
    plans = [part for _, part in pairs if isinstance(part, ToolCallPart) and part.tool_name in _PLAN_TOOLS]
    context = [line for line in known.get("## Critical Context", "").splitlines() if line != _NOTE]
    sections = {
        **known,
        "## Goal": known.get("## Goal") or (_clip(prompts[0]) if prompts else _NONE),
        "### In Progress": _clip(prompts[-1]) if prompts else known.get("### In Progress", _NONE),
        "## Next Steps": _plan(plans[-1]) if plans else known.get("## Next Steps", _NONE),
        "## Critical Context": "\n\n".join(
            [
                _NOTE,
                *([_clip("\n".join(context))] if any(context) else []),
                *(f"{_ERROR}{_clip(error)}" for error in errors[-_MOST_ERRORS:]),
                *(f"Last answer: {_clip(answer)}" for answer in answers[-1:]),
            ]
        ),
    }
    return Summary(sections)


def _error(result: ToolReturnPart) -> str:
    """What a call that failed said: refused, retried, or a command whose exit code is not 0."""
    said = result.content if isinstance(result.content, str) else ""
    return said if result.outcome != "success" or exit_code_in(said) else ""


def _plan(call: ToolCallPart) -> str:
    return _clip(call.args if isinstance(call.args, str) else json.dumps(call.args, ensure_ascii=False, default=str))


def _clip(text: str) -> str:
    text = text.strip()
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[: _MOST_CHARACTERS // 2]}\n…\n{text[-_MOST_CHARACTERS // 2 :]}"
    # A heading in quoted text must not read as one of the record's.
    return "\n".join(f"\\{line}" if line.startswith("#") else line for line in text.splitlines()) or _NONE
