"""How far a history is saved (CASCADE §6): what the lockstep tests compare with."""

from __future__ import annotations

from agent_ls.history import History


def persisted(history: History) -> int:
    """How many of the live messages, from the first, the log holds or a resume would make up again."""
    first_waiting = next((entry.ordinal for entry in history._journal.waiting), None)
    live = history._live
    if first_waiting is None:
        return len(live)
    return next(index for index, each in enumerate(live) if each.ordinal is not None and each.ordinal >= first_waiting)
