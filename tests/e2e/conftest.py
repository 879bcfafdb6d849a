from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.raw_client import Json, RawClient
from tests.simulator import Simulator

StartServer = Callable[..., RawClient]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def start_server(workspace: Path, tmp_path: Path) -> Iterator[StartServer]:
    """Starts initialized servers for the workspace; all are gone at the end."""
    with ExitStack() as stack:

        def start(simulator: Simulator, *, model: str = "openai:gpt-5", **options: Any) -> RawClient:
            answers = options.pop("answers", None)
            environ = options.pop("environ", {})
            command = {"command": options.pop("command")} if "command" in options else {}
            settings = {"model": model, **options.pop("settings", {})}
            client = RawClient(
                environ={**simulator.environment, **environ}, answers=answers, home=tmp_path / "home", **command
            )
            stack.enter_context(client)
            client.initialize(workspace, settings=settings, **options)
            return client

        yield start


def allow(option: str = "allow_once") -> Callable[[Json], Json]:
    """A person who always picks the same option."""
    return lambda params: {"outcome": {"outcome": "selected", "optionId": option}}
