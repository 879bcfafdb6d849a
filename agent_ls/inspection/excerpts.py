"""From a message to the few words that are kept of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, RetryFeedbackPart, UserPromptPart

from agent_ls.compaction.boundary import is_legacy_retry
from agent_ls.compaction.carried import Command, text_of
from agent_ls.compaction.context import category_of
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.occupancy import context_input
from agent_ls.compaction.summary import carried_in, is_summary, record_in
from agent_ls.inspection.ends import Ends, EndsCollector
from agent_ls.inspection.session import CarriedSeen, MessageSeen, PartSeen, Shares
from agent_ls.tokens import Tokens

EXCERPT_CHARACTERS: Final = 600
_MOST_PARTS: Final = 12
"""Kept of the parts of one message, at each end."""
_MOST_CARRIED: Final = 20
"""Kept of each list that a checkpoint carries, at each end."""
_SUMMARY_CHARACTERS: Final = 40_000


def message_seen(message: ModelMessage, ordinal: int, at: datetime, estimator: Estimator) -> MessageSeen:
    """What is told of a message."""
    parts: EndsCollector[PartSeen] = EndsCollector(_MOST_PARTS, _MOST_PARTS)
    for part, weight in zip(message.parts, estimator.parts(message), strict=True):
        text = _text(part)
        parts.add(
            PartSeen(
                category=category_of(message, part),
                kind=part.part_kind,
                tool=getattr(part, "tool_name", None),
                excerpt=text[:EXCERPT_CHARACTERS],
                characters=len(text),
                tokens=round(weight.times(estimator.factor)),
                failed=_failed(part),
            )
        )
    counted = context_input(message) if isinstance(message, ModelResponse) else 0
    return MessageSeen(at, ordinal, message.kind, parts.ends(), Tokens.measured(counted) if counted else None)


def _failed(part: Any) -> bool:
    feedback = isinstance(part, RetryFeedbackPart) or is_legacy_retry(part)
    return feedback or getattr(part, "outcome", "success") != "success"


def shares_of(message: ModelMessage, estimator: Estimator) -> Shares:
    """A message's estimated tokens by kind; of a checkpoint's element 0 the first part is the summary."""
    shares: Counter[Any] = Counter()
    summary_parts = 1 if is_summary(message) else 0
    for at, (part, weight) in enumerate(zip(message.parts, estimator.parts(message), strict=True)):
        category = "summary" if at < summary_parts else category_of(message, part)
        shares[category] += round(weight.times(estimator.factor))
    return dict(shares)


def prompt_of(message: ModelMessage) -> str | None:
    """The user's words in a message, None if there are none."""
    words = [text_of(part.content) for part in message.parts if isinstance(part, UserPromptPart)]
    return "\n".join(words)[:EXCERPT_CHARACTERS] if words else None


def summary_of(message: ModelRequest) -> str:
    """The record in a checkpoint's element 0; all of its text if it has no such record."""
    record = record_in(message)
    return (prompt_of(message) or "" if record is None else record.render())[:_SUMMARY_CHARACTERS]


def carried_seen(message: ModelRequest) -> CarriedSeen:
    """What a checkpoint's element 0 carries."""
    carried = carried_in(message)
    return CarriedSeen(
        words=_excerpts(each.text for each in carried.words),
        changed=_excerpts(carried.changed),
        read=_excerpts(carried.read),
        commands=_excerpts(map(_command, carried.commands)),
    )


def _command(command: Command) -> str:
    return command.command if command.exit_code is None else f"{command.command} → exit code {command.exit_code}"


def _excerpts(texts: Iterable[str]) -> Ends[str]:
    kept: EndsCollector[str] = EndsCollector(_MOST_CARRIED, _MOST_CARRIED)
    for text in texts:
        kept.add(text[:EXCERPT_CHARACTERS])
    return kept.ends()


def _text(part: Any) -> str:
    """A part's content as text: arguments of a call as JSON, pictures by name."""
    content = getattr(part, "args", None) if hasattr(part, "args") else getattr(part, "content", None)
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(part, UserPromptPart):
        return text_of(content)
    try:
        return json.dumps(content, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        return repr(content)
