"""A provider's refusal of a request, in that provider's own words and shape."""

from __future__ import annotations

from typing import Any

from attrs import frozen


@frozen
class Refusal:
    """The HTTP status and JSON body a request was refused with."""

    status: int
    body: Any
    message: str


class RequestRefused(Exception):
    """Raised by the checks of a protocol; the server answers with the refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
