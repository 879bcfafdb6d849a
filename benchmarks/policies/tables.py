"""The simulation's outcomes as Markdown, and who is cheapest among those that keep as much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import frozen

from benchmarks.policies.contenders import OURS
from benchmarks.policies.facts import Kind
from benchmarks.policies.simulate import Outcome

_AS_MANY: Final = 0.0005
"""Shares are told to a tenth of a percent: what rounds to the same is as many."""

COLUMNS: Final = (
    "policy",
    "billed, to ours",
    "of it summaries",
    "summary calls",
    "cache breaks",
    "largest request",
    "refused / not sent",
    "rules",
    "last ten outputs",
    "paths",
    "errors",
    "decisions",
)


@frozen
class Row:
    """A policy over all sessions in one window."""

    name: str
    outcomes: Sequence[Outcome]

    @property
    def billed(self) -> float:
        """Tokens of uncached input."""
        return sum(outcome.bill.billed for outcome in self.outcomes)

    @property
    def unserved(self) -> int:
        """Requests that got no answer."""
        return sum(outcome.refused + outcome.not_sent for outcome in self.outcomes)

    @property
    def outputs(self) -> float:
        """Share of the last ten tool outputs that was in the requests."""
        return _share([(each.outputs_present, each.outputs_due) for each in self.outcomes])

    def present(self, kind: Kind) -> float:
        """Share of the due facts that was in the requests."""
        return _share([(each.present[kind], each.due[kind]) for each in self.outcomes])

    def within_reach(self, kind: Kind) -> float:
        """The same with what recall finds."""
        return _share([(each.present[kind] + each.recallable[kind], each.due[kind]) for each in self.outcomes])

    def cells(self, ours: Row) -> list[str]:
        """The row under `COLUMNS`. A bill that leaves out refused requests is in brackets."""
        ratio = f"{self.billed / ours.billed:.2f}"
        bills = [outcome.bill for outcome in self.outcomes]
        summaries = sum(bill.billed_for_summaries for bill in bills) / self.billed
        largest = max(outcome.largest / outcome.window for outcome in self.outcomes)
        refused, not_sent = (sum(getattr(each, name) for each in self.outcomes) for name in ("refused", "not_sent"))
        return [
            self.name,
            f"({ratio})" if self.unserved else ratio,
            f"{summaries:.0%}",
            f"{sum(bill.summary_calls for bill in bills)}",
            f"{sum(bill.cache_breaks for bill in bills)}",
            f"{largest:.0%}",
            f"{refused} / {not_sent}",
            self._reach("rule"),
            f"{self.outputs:.1%}",
            self._reach("path"),
            self._reach("error"),
            self._reach("decision"),
        ]

    def _reach(self, kind: Kind) -> str:
        present, reached = f"{self.present(kind):.0%}", f"{self.within_reach(kind):.0%}"
        return present if present == reached else f"{present} ({reached})"


def table(rows: Sequence[Row]) -> str:
    """All policies in one window; ours first."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(row.cells(rows[0]))} |" for row in rows]
    return "\n".join(lines)


def verdict(rows: Sequence[Row]) -> str:
    """Whether ours is the cheapest of those that answer all, keep every rule and as many of the last ten outputs."""
    ours = next(row for row in rows if row.name == OURS.name)
    # A variant of ours is no other policy.
    others = [row for row in rows if not row.name.startswith("agent_ls")]
    kept_rules = [row for row in others if not row.unserved and row.present("rule") == 1]
    equal = [row for row in kept_rules if row.outputs >= ours.outputs - _AS_MANY]
    cheaper = [row for row in equal if row.billed < ours.billed and row is not ours]
    if ours not in kept_rules:
        return f"Ours left {ours.unserved} requests without an answer or lost a rule: it is not in the comparison."
    if cheaper:
        return "Cheaper and keeping as much: " + "; ".join(row.name for row in cheaper) + "."
    rivals = [row for row in equal if row is not ours]
    if not rivals:
        less = min((row for row in kept_rules if row is not ours), key=lambda row: row.billed, default=None)
        beside = f" The cheapest that keeps every rule costs {less.billed / ours.billed:.2f} of ours." if less else ""
        return f"No other policy keeps every rule and as many of the last ten outputs.{beside}"
    next_best = min(rivals, key=lambda row: row.billed)
    return (
        "Ours is the cheapest that keeps every rule and as many of the last ten outputs; "
        f"next is {next_best.name.strip('*')} at {next_best.billed / ours.billed:.2f}."
    )


def _share(pairs: Sequence[tuple[int, int]]) -> float:
    due = sum(total for _, total in pairs)
    return sum(part for part, _ in pairs) / due if due else 1.0
