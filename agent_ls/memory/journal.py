"""Which sessions are remembered: what makes a write-back happen exactly once (DESIGN §7).

A sentence about a session is first written here (*intended*), then into MEMORY.md, then marked *written*. Killed
between any two, the next start finds the intention and finishes it without asking a model again. Read and written
only under the store's lock.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve, field, frozen, validators

from agent_ls.protocol import SessionId

_logger = logging.getLogger(__name__)

_VERSION: Final = 1
_MAX_SESSIONS: Final = 500
"""Older ones are forgotten here; their logs hold a `memory` line."""

GIVE_UP_AFTER: Final = 3
"""So many failures of the model, over as many starts, and a session is left without a sentence."""

_count = validators.and_(validators.instance_of(int), validators.ge(0))


@frozen
class Remembered:
    """What is known of one session. Messages are counted by log ordinal: `covers` is the one after the last covered.

    `line` is the bullet to write, None for nothing; `written` that it stands in MEMORY.md, or nothing had to.
    """

    covers: int = field(default=0, validator=_count)
    line: str | None = field(default=None, validator=validators.optional(validators.instance_of(str)))
    written: bool = field(default=True, validator=validators.instance_of(bool))
    failures: int = field(default=0, validator=_count)


@frozen
class Journal:
    """Sessions in the order they were last remembered."""

    sessions: Mapping[SessionId, Remembered] = {}

    @classmethod
    def decode(cls, data: bytes) -> Journal:
        """The journal in these bytes; an empty one if they are damaged, which is logged."""
        try:
            content = json.loads(data) if data else {"sessions": {}}
            return cls({SessionId(name): Remembered(**entry) for name, entry in content["sessions"].items()})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            _logger.warning("the memory journal is damaged and starts anew: %s", error)
            return cls()

    def encode(self) -> bytes:
        """The bytes `decode` reads."""
        newest = list(self.sessions.items())[-_MAX_SESSIONS:]
        content: dict[str, Any] = {
            "version": _VERSION,
            "sessions": {name: _as_json(remembered) for name, remembered in newest},
        }
        return json.dumps(content, indent=1).encode()

    def of(self, session_id: SessionId) -> Remembered:
        """What is known of a session; of an unknown one: nothing covered."""
        return self.sessions.get(session_id, Remembered())

    def intend(self, session_id: SessionId, covers: int, line: str | None) -> Journal:
        """With `line` about to be written for the session up to `covers`."""
        return self._with(session_id, Remembered(covers=covers, line=line, written=False))

    def done(self, session_id: SessionId) -> Journal:
        """With the session's line written."""
        return self._with(session_id, evolve(self.of(session_id), written=True))

    def failed(self, session_id: SessionId) -> Journal:
        """With one more failure to find a sentence for the session."""
        known = self.of(session_id)
        return self._with(session_id, evolve(known, failures=known.failures + 1))

    def _with(self, session_id: SessionId, remembered: Remembered) -> Journal:
        others = {name: entry for name, entry in self.sessions.items() if name != session_id}
        return Journal({**others, session_id: remembered})


def _as_json(remembered: Remembered) -> Mapping[str, Any]:
    return {
        "covers": remembered.covers,
        "line": remembered.line,
        "written": remembered.written,
        "failures": remembered.failures,
    }
