"""Disk work beside the event loop: a slow disk holds up who asked for it, and no other session or request.

With threads of its own, so that a disk that hangs takes none from what else is done in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from agent_ls.cancellation import despite_cancel

_T = TypeVar("_T")

_threads: Final = ThreadPoolExecutor(max_workers=32, thread_name_prefix="agent-ls-disk")


async def off_loop(work: Callable[[], _T], then: Callable[[_T], None]) -> None:
    """Do `work` in a thread and call `then` with its result. A cancel waits for both, so nothing is left half way."""
    result, cancelled = await despite_cancel(asyncio.get_running_loop().run_in_executor(_threads, work))
    then(result)
    if cancelled:
        raise asyncio.CancelledError
