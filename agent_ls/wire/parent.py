"""Whether the client's process still lives (LSP 3.17 "initialize", `processId`)."""

from __future__ import annotations

import os


def is_alive(process_id: int) -> bool:
    """Whether there is a process of this id. On Windows always true: there the closing pipe tells."""
    if os.name != "posix":
        return True  # os.kill(pid, 0) would end the process
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def watchable(process_id: int | None) -> int | None:
    """The client's process if it can be watched: a client in another container names one that is not ours to see."""
    return process_id if process_id is not None and process_id > 0 and is_alive(process_id) else None
