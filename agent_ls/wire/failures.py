"""What went wrong, as the wire says it (PROTOCOL "Errors"): a code, a sentence, data a client can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen
from pygls.exceptions import JsonRpcException

from agent_ls.errors import AgentError
from agent_ls.protocol import INTERNAL_ERROR, INVALID_PARAMS, REQUEST_FAILED
from agent_ls.wire.converter import BadParams


@frozen
class Failure:
    """An error response without its id."""

    code: int
    message: str
    data: Any = None

    @classmethod
    def bad_params(cls, problems: Sequence[str]) -> Failure:
        """-32602: one problem for each bad field, with its path."""
        return cls(INVALID_PARAMS, f"Invalid params: {'; '.join(problems)}", list(problems))

    @property
    def is_bug(self) -> bool:
        """Whether the cause belongs in the log, because the wire does not tell it."""
        return self.code == INTERNAL_ERROR

    def on_wire(self) -> Mapping[str, Any]:
        """The `error` member of the response."""
        error = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


def failure_of(error: BaseException) -> Failure:
    """The failure an exception of a handler is. What is no error of ours is a bug, and its text stays off the wire."""
    match error:
        case AgentError():
            data = {
                "kind": error.kind,
                "retryable": error.retryable,
                "sessionId": error.session_id,
                "hint": error.hint,
            }
            return Failure(
                REQUEST_FAILED, error.message, {name: value for name, value in data.items() if value is not None}
            )
        case BadParams():
            return Failure.bad_params(error.problems)
        case JsonRpcException() if error.code != INTERNAL_ERROR:
            return Failure(error.code, error.message, error.data)
        case _:
            return Failure(INTERNAL_ERROR, f"internal error ({type(error).__name__}); the server's log has more")
