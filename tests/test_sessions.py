"""Which session a request is for, and what a cancel does that comes before it is there (docs/protocol.md)."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_ls.errors import SessionNotFound
from agent_ls.history import History
from agent_ls.log.catalog import write_back_pending
from agent_ls.log.own_sessions import OwnSessions
from agent_ls.protocol import CompactParams, DeleteParams, PromptParams, ResumeParams, SessionId, SessionParams
from agent_ls.sessions import Sessions
from agent_ls.settings import LiveSettings
from tests.fake_client import FakeClient
from tests.log.strategies import answer, prompt
from tests.simulator import Failure, Simulator


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
async def sessions() -> AsyncIterator[Sessions]:
    settings = LiveSettings.fixed(model="test", memory_compression_enabled=False)
    sessions = Sessions(FakeClient(), settings)
    yield sessions
    await sessions.shutdown(30)
    gc.unfreeze()


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def on_disk(workspace: Path) -> History:
    history = History.create(workspace)
    history.append(prompt("one"), answer("two"))
    history.close()
    return history


async def nothing_is_left_to_do(sessions: Sessions, workspace: Path) -> None:
    await asyncio.gather(*sessions._folders[workspace]._farewells)


def open_files() -> set[Path]:
    return {each.resolve() for each in Path("/proc/self/fd").iterdir()}


async def active_in(sessions: Sessions, workspace: Path) -> SessionId:
    return (await sessions.context(SessionParams(workspace=str(workspace)))).session_id


async def test_a_session_id_picks_the_folder_of_a_new_session_a_list_and_the_memory(
    sessions: Sessions, tmp_path: Path
) -> None:
    a, b = folder(tmp_path / "a"), folder(tmp_path / "b")
    old = on_disk(b)
    await sessions.folders_changed([a, b])
    in_a, in_b = await active_in(sessions, a), await active_in(sessions, b)
    listed = await sessions.list(SessionParams(session_id=in_b))
    assert [row.session_id for row in listed.sessions] == [old.session_id]
    assert str(b) in (await sessions.memory(SessionParams(session_id=in_b))).path
    await sessions.new(SessionParams(session_id=in_b))
    assert await active_in(sessions, a) == in_a
    assert await active_in(sessions, b) != in_b


async def test_only_a_prompt_makes_an_older_session_the_active_one(sessions: Sessions, tmp_path: Path) -> None:
    old = on_disk(tmp_path)
    await sessions.folders_changed([tmp_path])
    active = await active_in(sessions, tmp_path)
    picked = SessionParams(session_id=old.session_id)
    for refused in (
        sessions.context(picked),
        sessions.close(picked),
        sessions.undo_compaction(picked),
        sessions.compact(CompactParams(session_id=old.session_id)),
    ):
        with pytest.raises(SessionNotFound, match="resume it first"):
            await refused
    assert await active_in(sessions, tmp_path) == active
    assert (await sessions.prompt(PromptParams("/help", session_id=old.session_id))).session_id == old.session_id
    assert await active_in(sessions, tmp_path) == old.session_id


async def test_a_prompt_that_is_cancelled_behind_a_resume_has_a_result(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = on_disk(tmp_path)
    await sessions.folders_changed([tmp_path])
    reads, go_on, resume = threading.Event(), threading.Event(), History.resume

    def slow_resume(path: Path) -> History:
        reads.set()
        assert go_on.wait(60)
        return resume(path)

    monkeypatch.setattr(History, "resume", slow_resume)
    resuming = asyncio.ensure_future(sessions.resume(ResumeParams(old.session_id)))
    await asyncio.to_thread(reads.wait)
    asked = asyncio.ensure_future(sessions.prompt(PromptParams("go")))
    await asyncio.sleep(0)
    asked.cancel()
    go_on.set()
    await resuming
    result = await asked
    assert (result.session_id, result.stop_reason, result.text) == (old.session_id, "cancelled", "")


@pytest.mark.skipif(sys.platform != "linux", reason="a process's files are listed in /proc, which is Linux's")
async def test_a_resume_that_is_cancelled_leaves_the_log_to_others(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = on_disk(tmp_path)
    await sessions.folders_changed([tmp_path])
    reads, go_on, done, resume = threading.Event(), threading.Event(), threading.Event(), History.resume

    def slow_resume(path: Path) -> History:
        reads.set()
        assert go_on.wait(60)
        try:
            return resume(path)
        finally:
            done.set()

    with monkeypatch.context() as slow:
        slow.setattr(History, "resume", slow_resume)
        resuming = asyncio.ensure_future(sessions.resume(ResumeParams(old.session_id)))
        await asyncio.to_thread(reads.wait)
        resuming.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await resuming
        await asyncio.to_thread(done.wait)
    await sessions.status(SessionParams())  # whatever was left to do has been done by now
    assert old.path not in open_files()
    History.resume(old.path).close()


async def test_a_resume_right_after_the_start_does_not_keep_a_killed_session_from_the_memory(
    sessions: Sessions, tmp_path: Path
) -> None:
    killed, old = on_disk(tmp_path), on_disk(tmp_path)
    for each in (killed, old):
        OwnSessions.of_this_user().add(each.session_id)
    assert write_back_pending(killed.path)
    await sessions.folders_changed([tmp_path])
    await sessions.resume(ResumeParams(old.session_id))
    await sessions.shutdown(30)
    assert not write_back_pending(killed.path)


async def test_a_session_that_was_killed_is_resumed_while_it_is_being_remembered(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = on_disk(tmp_path)
    OwnSessions.of_this_user().add(killed.session_id)
    reads, go_on, resume = threading.Event(), threading.Event(), History.resume

    def slow_once(path: Path) -> History:
        monkeypatch.setattr(History, "resume", resume)
        history = resume(path)
        reads.set()
        assert go_on.wait(60)
        return history

    monkeypatch.setattr(History, "resume", slow_once)
    await sessions.folders_changed([tmp_path])
    await asyncio.to_thread(reads.wait)
    resuming = asyncio.ensure_future(sessions.resume(ResumeParams(killed.session_id)))
    await sessions.list(SessionParams())
    go_on.set()
    assert (await resuming).session_id == killed.session_id


async def test_what_is_left_to_remember_survives_a_mistyped_id_and_a_deletion(
    sessions: Sessions, tmp_path: Path
) -> None:
    killed, other = on_disk(tmp_path), on_disk(tmp_path)
    OwnSessions.of_this_user().add(killed.session_id)
    await sessions.folders_changed([tmp_path])
    with pytest.raises(SessionNotFound):
        await sessions.resume(ResumeParams(SessionId("none")))
    await sessions.delete(DeleteParams(other.session_id))
    await sessions.shutdown(30)
    assert not write_back_pending(killed.path)


async def test_three_starts_may_fail_to_remember_a_session_not_three_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with Simulator(otherwise=Failure(400)) as simulator:
        for name, value in simulator.environment.items():
            monkeypatch.setenv(name, value)
        sessions = Sessions(FakeClient(), LiveSettings.fixed(model="openai-chat:gpt-5"))
        killed, old, older = on_disk(tmp_path), on_disk(tmp_path), on_disk(tmp_path)
        OwnSessions.of_this_user().add(killed.session_id)
        await sessions.folders_changed([tmp_path])
        for each in (old, older, old, older):
            await sessions.resume(ResumeParams(each.session_id))
            await nothing_is_left_to_do(sessions, tmp_path)
        await sessions.shutdown(30)
    assert write_back_pending(killed.path)


async def test_a_cancel_right_behind_a_prompt_stops_it(sessions: Sessions, tmp_path: Path) -> None:
    await sessions.folders_changed([tmp_path])
    active = await active_in(sessions, tmp_path)
    asked = asyncio.ensure_future(sessions.prompt(PromptParams("go")))
    await asyncio.sleep(0)
    sessions.cancel(active)
    assert (await asked).stop_reason == "cancelled"
