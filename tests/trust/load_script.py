"""What the simulator of the load attack answers, in its own process: as many numbered chunks as a prompt asks for."""

import re

from tests.simulator import RecordedRequest, Reply


def replies(request: RecordedRequest) -> Reply:
    """`chunks=N` in the newest prompt; a huge prompt asks for none."""
    asked = re.search(r"chunks=(\d+)", str(request.messages[-1]["content"])[:100])
    count = int(asked[1]) if asked is not None else 1
    return Reply([f"{number} " for number in range(count)])
