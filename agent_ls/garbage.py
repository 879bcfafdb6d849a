"""Python's cycle collector, kept away from what is large and has no cycles.

A full collection looks at every object there is: 130 ms with pydantic-ai imported (measured), in which no delta of an
answer is passed on. Modules and messages are freed by their reference counts, or never.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def never_look_again() -> None:
    """No later collection looks at the objects there are now."""
    gc.freeze()


@contextmanager
def collector_paused() -> Iterator[None]:
    """While many objects without cycles are made: each of them would be looked at again and again.

    Also pauses what other threads do meanwhile, which costs no more than memory until it is over.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
