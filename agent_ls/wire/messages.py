"""What can be said of a message before anyone handles it (JSON-RPC 2.0 §4)."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from attrs import fields
from lsprotocol import types


def decoded(data: bytes) -> Any:
    """The JSON value of a message. Raises ValueError or RecursionError; `NaN` is no JSON, though Python reads it."""
    return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)


def usable_id(identifier: Any) -> str | int | None:
    """The id if a response can carry it; None for null, fractions and everything else."""
    return identifier if isinstance(identifier, str | int) and not isinstance(identifier, bool) else None


def is_request(method: str) -> bool:
    """Whether a method of LSP is answered; methods that lsprotocol does not know are."""
    cls = types.METHOD_TO_TYPES.get(method, (None,))[0]
    return cls is None or "id" in {each.name for each in fields(cls)}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
