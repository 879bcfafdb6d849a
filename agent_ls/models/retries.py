"""How often and how long to wait before a transient error is tried again (DESIGN §5: bounded, visible).

The provider SDKs' own hidden retries are off (`max_retries=0` in every model's settings), so these are all there are.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

MAX_RETRIES: Final = 4
_FIRST_DELAY_SECONDS: Final = 1.0
_LONGEST_DELAY_SECONDS: Final = 60.0


def retry_delays(retries: int = MAX_RETRIES) -> Iterator[float]:
    """Seconds to wait before each retry: 1, 2, 4, 8 …, each up to a quarter longer so that clients spread out."""
    for attempt in range(retries):
        spread = random.uniform(1.0, 1.25)
        yield min(_FIRST_DELAY_SECONDS * 2**attempt * spread, _LONGEST_DELAY_SECONDS)


def seconds_to_wait(delay: float, retry_after: float | None) -> float:
    """`delay`, or what the provider asked for where that is longer; never more than a minute."""
    return min(max(delay, retry_after or 0.0), _LONGEST_DELAY_SECONDS)
