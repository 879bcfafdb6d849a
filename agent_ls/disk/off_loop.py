"""Disk work beside the event loop: a slow disk holds up who asked for it, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def off_loop(work: Callable[[], _T], then: Callable[[_T], None]) -> None:
    """Do `work` in a thread and call `then` with its result. A cancel waits for both, so nothing is left half way."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    then(running.result())
    if cancelled is not None:
        raise cancelled
