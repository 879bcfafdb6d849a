import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.raw_client import RawClient

Start = Callable[..., RawClient]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers that are asked to initialize and nothing more, so that pydantic-ai is not imported."""
    with ExitStack() as stack:

        def started(capabilities: Any = None, *, answers: Any = None, **options: Any) -> RawClient:
            command = [sys.executable, "-m", "tests.features.lsp_client_server"]
            client = stack.enter_context(RawClient(command=command, answers=answers, home=tmp_path / "home"))
            client.request(
                "initialize",
                {
                    "processId": None,
                    "rootUri": tmp_path.as_uri(),
                    "capabilities": capabilities or {},
                    "initializationOptions": options,
                },
            )
            return client

        yield started
