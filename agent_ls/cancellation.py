"""Being cancelled, where it is an outcome and not an error: a cancelled prompt answers with a result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import TracebackType
from typing import Any, TypeVar

_T = TypeVar("_T")


def cancel_once(task: asyncio.Task[Any]) -> None:
    """Cancel a task unless it was: a second CancelledError would stop it in the middle of ending well."""
    if not task.cancelling():
        task.cancel()


class CancelAbsorbed:
    """A cancel ends what is inside the `with`, and only that: the task goes on behind it."""

    def __enter__(self) -> None:
        """Nothing to begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        """Ends the cancel."""
        if kind is None or not issubclass(kind, asyncio.CancelledError):
            return False
        _forget_a_cancel()
        return True


async def despite_cancel(work: Awaitable[_T]) -> tuple[_T, bool]:
    """The result of `work`, which runs to its end, and whether this task was cancelled meanwhile.

    Raises what `work` raises; CancelledError in its place where the task was cancelled, too.
    """
    running = asyncio.ensure_future(work)
    cancelled = False
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            cancelled = True
            _forget_a_cancel()
    if cancelled and not running.cancelled() and (error := running.exception()) is not None:
        raise asyncio.CancelledError from error
    return running.result(), cancelled


def _forget_a_cancel() -> None:
    if (task := asyncio.current_task()) is not None:
        task.uncancel()
