"""The one tree of errors that a person or a client can meet.

Each has a stable `kind` (PROTOCOL "Errors"), a sentence a person can act on, whether trying again can help, and
a hint where there is a next step. The wire sends them as RequestFailed (-32803) with `data {kind, retryable,
sessionId?, hint?}`; anything that is not an AgentError is a bug and is sent as -32603.
"""

from __future__ import annotations

from typing import ClassVar, Literal

ErrorKind = Literal[
    "sessionBusy",
    "sessionNotFound",
    "sessionLocked",
    "modelUnavailable",
    "providerError",
    "contextTooLarge",
    "settingsInvalid",
    "logUnwritable",
]


class AgentError(Exception):
    """Base of everything agent_ls reports on purpose. Never raised itself."""

    kind: ClassVar[ErrorKind]
    retryable: bool = False

    def __init__(self, message: str, *, hint: str | None = None, session_id: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.session_id = session_id


class SessionBusy(AgentError):
    """A turn or a compaction runs in this session; single flight (DESIGN §5)."""

    kind = "sessionBusy"
    retryable = True


class SessionNotFound(AgentError):
    """No session of this id, or none at all, in this workspace."""

    kind = "sessionNotFound"


class SessionLocked(AgentError):
    """Another server writes this session's log; never two writers (DESIGN §4)."""

    kind = "sessionLocked"
    retryable = True


class ModelUnavailable(AgentError):
    """The model cannot be built: missing key or package, or a name nobody knows."""

    kind = "modelUnavailable"


class ProviderError(AgentError):
    """The provider refused or failed for good; `retryable` tells whether the same prompt may work later."""

    kind = "providerError"

    def __init__(
        self, message: str, *, retryable: bool, hint: str | None = None, session_id: str | None = None
    ) -> None:
        super().__init__(message, hint=hint, session_id=session_id)
        self.retryable = retryable


class ContextTooLarge(AgentError):
    """Nothing more can be freed and the request would not fit in the window (CASCADE §9, §10)."""

    kind = "contextTooLarge"


class SettingsInvalid(AgentError):
    """A setting's value breaks its rule; the last good settings stay in force (DESIGN §8).

    `name` is spelled as the source spells it, `rule` is what the value must be, `source` is where it came from.
    """

    kind = "settingsInvalid"

    def __init__(self, *, name: str, value: object, rule: str, source: str) -> None:
        shown = repr(value)
        super().__init__(
            f"{name} = {shown if len(shown) <= 80 else shown[:79] + '…'} from {source} is refused: {rule}."
        )
        self.name = name
        self.value = value
        self.rule = rule
        self.source = source


class LogUnwritable(AgentError):
    """The session log could not be written; memory and log are as they were before (DESIGN §4)."""

    kind = "logUnwritable"
    retryable = True
