"""What a full compaction came to (CASCADE §6): one of three, never a mixture."""

from __future__ import annotations

from attrs import evolve, frozen

from agent_ls.compaction.summary import Summary
from agent_ls.protocol import CompactionEvent, CompactOutcome
from agent_ls.tokens import Tokens


@frozen
class Compacted:
    """The history is [summary, *tail] now; the tail began at `tail_start`. `cost` is the summary's in USD, if known.

    `prompt_moved`: the running turn's prompt stands in the summary message.
    """

    before: Tokens
    after: Tokens
    summary: Summary
    prompt_moved: bool
    tail_start: int
    cost: float | None

    def ends(self, started: CompactionEvent) -> CompactionEvent:
        """What is told of it to whoever was told that it started."""
        return evolve(
            started,
            status="completed",
            before=self.before,
            after=self.after,
            messages_covered=self.tail_start,
            summary=self.summary.render(),
            cost=self.cost,
        )

    def prompt_at(self, turn_start: int) -> int:
        """Where the prompt of the running turn stands now, which was at `turn_start`."""
        return 0 if self.prompt_moved else turn_start - self.tail_start + 1


@frozen
class NothingToCompact:
    """There is nothing before the tail, only the previous summary, or too little to be worth a request."""


@frozen
class Failed:
    """Nothing changed; `reason` is a sentence. `saved_too_little`: the same history would save as little again."""

    reason: str
    saved_too_little: bool = False


FullOutcome = Compacted | NothingToCompact | Failed


@frozen
class CompactReport:
    """What a compaction by hand came to (PROTOCOL "agent/compact")."""

    outcome: CompactOutcome
    message: str
    before: Tokens
    after: Tokens | None = None
    reason: str | None = None
    summary: str | None = None

    @classmethod
    def of(cls, outcome: FullOutcome, used: Tokens, log: str) -> CompactReport:
        """The report of an outcome; `used` was in use before, `log` is where the whole conversation is."""
        match outcome:
            case Compacted(before=before, after=after, summary=summary):
                message = f"Compacted: {before.in_words} → {after.in_words} tokens."
                return cls("compacted", message, before, after, summary=summary.render())
            case NothingToCompact():
                return cls("nothingToCompact", "There is nothing to compact yet.", used)
            case Failed(reason=reason):
                message = f"Nothing was changed: {reason} The whole conversation is in {log}."
                return cls("summarizerFailed", message, used, reason=reason)
