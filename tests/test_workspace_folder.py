"""A workspace folder's sessions, as objects; what a client sees of them is in tests/e2e/test_sessions.py."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ls.history import History
from agent_ls.log.own_sessions import OwnSessions
from agent_ls.protocol import SessionId
from agent_ls.settings import LiveSettings
from agent_ls.workspace_folder import WorkspaceFolder
from tests.fake_client import FakeClient
from tests.log.strategies import answer, prompt


@pytest.fixture
def unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def session_on_disk(workspace: Path) -> SessionId:
    history = History.create(workspace)
    history.append(prompt("one"), answer("two"))
    history.close()
    return history.session_id


@pytest.mark.usefixtures("unfrozen")
async def test_a_session_that_ended_lets_go_of_its_messages(tmp_path: Path) -> None:
    first, second = session_on_disk(tmp_path), session_on_disk(tmp_path)
    settings = LiveSettings.fixed(model="test", memory_compression_enabled=False)
    folder = WorkspaceFolder(tmp_path, FakeClient(), settings, OwnSessions(tmp_path / "own"))
    message = weakref.ref((await folder.resume(first)).history.messages[0])
    await folder.resume(second)  # after which the collector never looks at the first session again
    assert message() is not None
    await folder.shutdown(30)
    gc.collect()
    assert message() is None
