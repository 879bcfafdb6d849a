"""A repository cannot let itself in (FAULTS 52), and nothing in it stops the agent."""

import json
import os
import socket
from pathlib import Path

import pytest

from agent_ls.protocol import PermissionOutcome
from agent_ls.tools.places import Places
from tests.fake_client import Question, choose
from tests.tools.conftest import Bench


@pytest.mark.parametrize("path", ["~/.ssh/id_rsa", "../other/.env", "/etc/shadow", "link/secret.txt", "link", ".env"])
@pytest.mark.parametrize("tool", ["read_file", "list_directory", "search_files", "find_files"])
async def test_a_look_at_what_is_not_the_projects_asks(bench: Bench, tmp_path: Path, path: str, tool: str) -> None:
    outside = tmp_path / "other"
    outside.mkdir()
    (outside / "secret.txt").write_text("canary")
    (outside / ".env").write_text("canary")
    (bench.workspace / ".env").write_text("canary")
    (bench.workspace / "link").symlink_to(outside)
    extra = {"pattern": "canary"} if tool == "search_files" else {"pattern": "*"} if tool == "find_files" else {}
    result = await bench.call(tool, path=path, **extra)
    assert result.outcome == "failed"
    assert "canary" not in result.content
    assert len(bench.client.questions) == 1


async def test_the_question_names_where_a_symlink_leads(bench: Bench, tmp_path: Path) -> None:
    (bench.workspace / "notes.txt").symlink_to(tmp_path / "elsewhere.txt")
    await bench.call("write_file", path="notes.txt", content="x")
    [question] = bench.client.questions
    assert [location.path for location in question.tool_call.locations] == [str(tmp_path / "elsewhere.txt")]


async def test_what_a_person_allows_outside_is_read(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("wanted")
    bench.client.otherwise = choose("allow_once")
    assert "wanted" in (await bench.call("read_file", path="../outside.txt")).content


@pytest.mark.parametrize(
    "path",
    [".git/hooks/pre-commit", ".git/config", "sub/.git/config", ".agent_ls/MEMORY.md", ".AGENT_LS/x", "link/config"],
)
@pytest.mark.parametrize("mode", ["ask", "acceptEdits", "bypass"])
async def test_fault_52_git_and_the_agents_own_files_are_not_written(bench: Bench, path: str, mode: str) -> None:
    (bench.workspace / ".git").mkdir()
    (bench.workspace / "link").symlink_to(bench.workspace / ".git")
    bench.mode(mode)
    bench.client.otherwise = choose("allow_once")
    result = await bench.call("write_file", path=path, content="x")
    assert result.outcome == "failed"
    assert "protected" in result.content
    assert bench.client.questions == []


async def test_fault_52_approvals_in_the_repository_are_not_read(bench: Bench) -> None:
    entry = {"edits": True, "commands": ["make"]}
    planted = json.dumps({"version": 1, "workspaces": {str(bench.workspace): entry}})
    for directory in (".agent_ls", ".agent-ls", ".config/agent-ls"):
        (bench.workspace / directory).mkdir(parents=True)
        (bench.workspace / directory / "permissions.json").write_text(planted)
    assert (await bench.call("run_command", command="make")).outcome == "failed"
    assert (await bench.call("write_file", path="a.py", content="x")).outcome == "failed"


async def test_fault_52_what_an_editor_runs_by_itself_asks_even_where_edits_are_accepted(bench: Bench) -> None:
    bench.mode("acceptEdits")
    await bench.call("write_file", path="a.py", content="x")
    assert bench.client.questions == []
    await bench.call("write_file", path=".vscode/tasks.json", content="{}")
    assert len(bench.client.questions) == 1


def test_the_users_own_agent_ls_directories_are_protected_also_inside_a_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    places = Places.of_workspace(tmp_path)
    assert places.locate("config/agent-ls/permissions.json").protected


@pytest.fixture
def zoo(bench: Bench) -> Bench:
    """A workspace full of what a walk can stumble over."""
    w = bench.workspace
    os.mkfifo(w / "fifo")
    (w / "loop").symlink_to(w / "loop")
    (w / "up").symlink_to("..")
    (w / "dangling").symlink_to("nowhere")
    (w / "null").symlink_to("/dev/zero")
    (w / "proc").symlink_to("/proc")
    with (w / "huge.bin").open("wb") as file:
        file.truncate(1 << 32)
    Path(os.fsdecode(os.fsencode(w) + b"/\xff\xfe")).write_text("needle")
    (w / "new\nline").write_text("needle")
    (w / "unreadable").mkdir(mode=0)
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(w)  # the path of a socket must be short
        listener.bind("socket")
        os.chdir(here)
    return bench


@pytest.mark.parametrize("path", ["fifo", "loop", "dangling", "null", "proc/self/environ", "huge.bin", "socket"])
async def test_no_odd_file_stops_a_reading(zoo: Bench, path: str) -> None:
    zoo.client.otherwise = choose("allow_once")
    result = await zoo.call("read_file", path=path)
    assert len(result.content) < 2_000


async def test_no_odd_file_stops_a_listing_or_a_search(zoo: Bench) -> None:
    listing = await zoo.call("list_directory")
    search = await zoo.call("search_files", pattern="needle")
    find = await zoo.call("find_files", pattern="*")
    for result in (listing, search, find):
        assert result.outcome == "success"
        result.content.encode()
    assert len(search.content.splitlines()) == 2


@pytest.mark.parametrize("path", ["fifo", "null", "socket", "unreadable", "loop/a"])
async def test_no_odd_file_is_written(zoo: Bench, path: str) -> None:
    zoo.client.otherwise = choose("allow_once")
    result = await zoo.call("write_file", path=path, content="x")
    assert result.outcome == "failed"


async def test_a_refused_edit_of_a_secret_tells_nothing_of_its_text(bench: Bench) -> None:
    (bench.workspace / ".env").write_text("KEY=abc\n")
    wrong = await bench.call("edit_file", path=".env", old_text="KEY=xyz", new_text="")
    right = await bench.call("edit_file", path=".env", old_text="KEY=abc", new_text="")
    assert wrong.content == right.content


@pytest.mark.parametrize("tool", ["search_files", "find_files", "list_directory"])
async def test_a_directory_called_tilde_does_not_open_the_home_directory(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "canary.txt").write_text("canary")
    monkeypatch.setenv("HOME", str(home))
    (bench.workspace / "~").mkdir()
    extra = {} if tool == "list_directory" else {"pattern": "canary*"}
    result = await bench.call(tool, path="./~", **extra)
    assert result.outcome == "success"
    assert "canary" not in result.content


async def test_lone_surrogates_in_arguments_are_refused_in_words(bench: Bench) -> None:
    bench.mode("bypass")
    calls: list[tuple[str, str]] = [
        ("write_file", r'{"path": "a.txt", "content": "\ud800"}'),
        ("write_file", r'{"path": "\ud800", "content": ""}'),
        ("read_file", r'{"path": "\ud800"}'),
        ("run_command", r'{"command": "echo \ud800"}'),
        ("search_files", r'{"pattern": "\ud800"}'),
    ]
    for result in await bench.calls(*[[call] for call in calls]):
        assert result.outcome == "failed"
        result.content.encode()


async def test_a_symlink_put_in_place_while_the_question_is_open_is_not_followed(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (bench.workspace / "src").mkdir()

    def swap_then_allow(_question: Question) -> PermissionOutcome:
        (bench.workspace / "src").rmdir()
        (bench.workspace / "src").symlink_to(outside)
        return choose("allow_once")

    bench.client.answers = [swap_then_allow]
    result = await bench.call("write_file", path="src/new/a.py", content="x")
    assert result.outcome == "failed"
    assert list(outside.iterdir()) == []


async def test_a_search_outside_names_whole_paths(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("needle")
    bench.client.otherwise = choose("allow_once")
    assert (await bench.call("search_files", pattern="needle", path="../other")).content == (
        f"{tmp_path}/other/a.txt:1:needle"
    )


async def test_an_unread_protected_file_is_refused_as_protected(bench: Bench) -> None:
    (bench.workspace / ".git").mkdir()
    (bench.workspace / ".git" / "config").write_text("")
    assert "protected" in (await bench.call("write_file", path=".git/config", content="x")).content
