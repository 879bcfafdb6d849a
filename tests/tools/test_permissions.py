"""Who is asked, what an answer covers, and that a refusal never ends the run."""

import asyncio
from pathlib import Path

import pytest

from agent_ls.protocol import PermissionOutcome
from agent_ls.settings.schema import PermissionMode
from agent_ls.tools.approvals import ApprovalFile, ExactCommand, ExactPath, WorkspaceEdits
from agent_ls.tools.permissions import Allowed, Ask, Change, Read, Refused, Run, judge
from agent_ls.tools.places import Places
from tests.fake_client import CANCELLED, Question, choose
from tests.tools.conftest import Bench


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places.of_workspace(tmp_path)


@pytest.mark.parametrize(
    ("path", "ask", "accept_edits", "read_only", "bypass"),
    [
        ("a.py", Ask, Allowed, Refused, Allowed),
        (".env", Ask, Ask, Refused, Allowed),
        (".vscode/tasks.json", Ask, Ask, Refused, Allowed),
        ("/elsewhere/a.py", Ask, Ask, Refused, Allowed),
        (".git/hooks/pre-commit", Refused, Refused, Refused, Refused),
        ("sub/.GIT/config", Refused, Refused, Refused, Refused),
        (".agent_ls/MEMORY.md", Refused, Refused, Refused, Refused),
        ("/proc/1/mem", Refused, Refused, Refused, Refused),
    ],
)
def test_who_is_asked_about_a_change(
    places: Places, path: str, ask: type, accept_edits: type, read_only: type, bypass: type
) -> None:
    modes: dict[PermissionMode, type] = {
        "ask": ask,
        "acceptEdits": accept_edits,
        "readOnly": read_only,
        "bypass": bypass,
    }
    for mode, expected in modes.items():
        assert isinstance(judge(Change(places.locate(path)), mode), expected), mode


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.py", Allowed),
        (".", Allowed),
        ("src/../a.py", Allowed),
        (".env.example", Allowed),
        ("id_rsa.pub", Allowed),
        (".env", Ask),
        ("config/.ENV.production", Ask),
        ("keys/server.pem", Ask),
        ("id_ed25519", Ask),
        ("../sibling/a.py", Ask),
        ("/etc/passwd", Ask),
        ("~/.ssh/id_rsa", Ask),
        ("/proc/self/environ", Refused),
        ("/dev/zero", Refused),
    ],
)
def test_who_is_asked_about_a_reading(places: Places, path: str, expected: type) -> None:
    modes: list[PermissionMode] = ["ask", "acceptEdits", "readOnly"]
    for mode in modes:
        assert isinstance(judge(Read(places.locate(path)), mode), expected)


def test_every_command_is_asked_about_except_in_bypass() -> None:
    assert isinstance(judge(Run("ls"), "ask"), Ask)
    assert isinstance(judge(Run("ls"), "acceptEdits"), Ask)
    assert isinstance(judge(Run("ls"), "readOnly"), Refused)
    assert isinstance(judge(Run("ls"), "bypass"), Allowed)


async def test_the_question_shows_the_change_and_the_editors_words(bench: Bench) -> None:
    (bench.workspace / "a.py").write_text("one\n")
    bench.client.otherwise = choose("allow_once")
    await bench.call("edit_file", path="a.py", old_text="one", new_text="two")
    [question] = bench.client.questions
    assert question.tool_call.title == "Edit a.py"
    assert question.tool_call.kind == "edit"
    assert question.tool_call.raw_input == {"path": "a.py", "old_text": "one", "new_text": "two"}
    [diff] = question.tool_call.content or []
    assert diff.type == "diff"
    assert (diff.path, diff.old_text, diff.new_text) == (str(bench.workspace / "a.py"), "one\n", "two\n")
    assert [option.kind for option in question.options] == [
        "allow_once",
        "allow_always",
        "allow_always",
        "reject_once",
    ]


async def test_the_reason_of_a_refusal_reaches_the_model(bench: Bench) -> None:
    bench.client.otherwise = choose("reject_once", "use pytest -x instead")
    result = await bench.call("run_command", command="pytest")
    assert result.outcome == "failed"
    assert "use pytest -x instead" in result.content


@pytest.mark.parametrize("answer", [CANCELLED, choose("no such option"), PermissionOutcome("selected", None)])
async def test_anything_but_a_clear_yes_is_a_no(bench: Bench, answer: PermissionOutcome) -> None:
    bench.client.otherwise = answer
    result = await bench.call("write_file", path="a.py", content="x")
    assert result.outcome == "failed"
    assert not (bench.workspace / "a.py").exists()


async def test_ten_refusals_in_a_row_do_not_end_the_run(bench: Bench) -> None:
    calls = [[("run_command", {"command": f"echo {number}"})] for number in range(10)]
    results = await bench.calls(*calls, [("read_file", {"path": "absent"})])
    assert [result.outcome for result in results] == ["failed"] * 10 + ["success"]


async def test_ten_calls_with_bad_arguments_do_not_end_the_run(bench: Bench) -> None:
    bad: list[tuple[str, dict[str, object] | str]] = [
        ("read_file", {}),
        ("read_file", {"path": 7}),
        ("read_file", "{not json"),
        ("read_file", {"path": "a\0b"}),
        ("read_file", {"path": "a.py", "offset": -1}),
        ("edit_file", {"path": "absent.py", "old_text": "a", "new_text": "b"}),
        ("edit_file", {"path": "a.py"}),
        ("search_files", {"pattern": "("}),
        ("search_files", {"pattern": "a", "path": "absent"}),
        ("find_files", {"pattern": "!*"}),
        ("run_command", {"command": ["ls"]}),
        ("recall", {}),
        ("recall", {"id": "message-99.0"}),
        ("update_plan", {"steps": "all of it"}),
        ("list_directory", {"path": "absent"}),
    ]
    results = await bench.calls(*[[call] for call in bad], [("list_directory", {})])
    assert [result.outcome for result in results[:-1]] == ["failed"] * len(bad)
    assert results[-1].outcome == "success"


async def test_an_answer_for_the_session_covers_this_command_and_no_other(bench: Bench) -> None:
    bench.client.answers = [choose("allow_session")]
    first = await bench.call("run_command", command="git status")
    again = await bench.call("run_command", command="git status")
    more = await bench.call("run_command", command="git status; rm -rf .")
    assert [first.outcome, again.outcome, more.outcome] == ["success", "success", "failed"]
    assert len(bench.client.questions) == 2


async def test_an_answer_for_the_session_ends_with_it(bench: Bench) -> None:
    bench.client.answers = [choose("allow_session")]
    await bench.call("run_command", command="true")
    bench.environment = bench.new_session()
    assert (await bench.call("run_command", command="true")).outcome == "failed"


async def test_an_answer_for_the_workspace_outlives_the_session_in_the_users_directory(bench: Bench) -> None:
    bench.client.answers = [choose("allow_workspace")]
    await bench.call("run_command", command="true")
    bench.environment = bench.new_session()
    assert (await bench.call("run_command", command="true")).outcome == "success"
    assert len(bench.client.questions) == 1
    assert not any("permissions" in str(path) for path in bench.workspace.rglob("*"))


async def test_an_answer_for_the_workspace_counts_only_there(bench: Bench, tmp_path: Path) -> None:
    bench.client.answers = [choose("allow_workspace")]
    await bench.call("run_command", command="true")
    other = tmp_path / "other"
    other.mkdir()
    assert ApprovalFile(bench.approvals, other).load() == frozenset()


async def test_secrets_and_writes_outside_are_never_allowed_for_good(bench: Bench) -> None:
    (bench.workspace / ".env").write_text("A=1\n")
    await bench.call("read_file", path=".env")
    await bench.call("write_file", path="../outside.txt", content="x")
    for question in bench.client.questions:
        assert "allow_workspace" not in [option.option_id for option in question.options]


async def test_an_option_that_was_not_offered_is_a_no(bench: Bench) -> None:
    (bench.workspace / ".env").write_text("A=1\n")
    bench.client.answers = [choose("allow_workspace")]
    assert (await bench.call("read_file", path=".env")).outcome == "failed"


async def test_a_failure_is_told_in_its_own_words(bench: Bench) -> None:
    assert (await bench.call("recall")).content == "Give either query or id."
    missing = await bench.call("edit_file", path="a.py", old_text="a", new_text="b")
    assert missing.content == "a.py was not changed: there is no such file: use write_file to make it."


async def test_one_answer_settles_the_questions_that_wait_behind_it(bench: Bench) -> None:
    bench.client.answers = [choose("allow_session")]
    results = await bench.calls([("read_file", {"path": "/etc/hostname"}), ("read_file", {"path": "/etc/hostname"})])
    assert [result.outcome for result in results] == ["success", "success"]
    assert len(bench.client.questions) == 1


async def test_a_mode_changed_while_a_question_is_open_counts_for_the_next(bench: Bench) -> None:
    def switch_then_refuse(_question: Question) -> PermissionOutcome:
        bench.mode("readOnly")
        return choose("allow_once")

    bench.client.answers = [switch_then_refuse]
    results = await bench.calls(
        [("write_file", {"path": "a", "content": ""}), ("write_file", {"path": "b", "content": ""})]
    )
    assert [result.outcome for result in results] == ["success", "failed"]
    assert "readOnly" in results[1].content


async def test_a_cancelled_turn_takes_its_question_back(bench: Bench) -> None:
    bench.client.hold = asyncio.Event()
    turn = asyncio.create_task(bench.calls([("write_file", {"path": "a.py", "content": "x"})]))
    await bench.client.asked.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    bench.client.hold.set()
    assert not (bench.workspace / "a.py").exists()


def test_approvals_are_read_back_and_join_those_of_another_server(tmp_path: Path) -> None:
    path, workspace = tmp_path / "config" / "permissions.json", tmp_path / "w"
    one, other = ApprovalFile(path, workspace), ApprovalFile(path, workspace)
    one.add(ExactCommand("make"))
    other.add(WorkspaceEdits())
    one.add(ExactPath("read", "/etc/hosts"))
    assert other.load() == {ExactCommand("make"), WorkspaceEdits(), ExactPath("read", "/etc/hosts")}


@pytest.mark.parametrize("content", ["", "[]", "{", '{"workspaces": 3}', "\x00\xff", "[" * 9_000])
def test_a_damaged_file_of_approvals_allows_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "permissions.json"
    path.write_text(content)
    approvals = ApprovalFile(path, tmp_path)
    assert approvals.load() == frozenset()
    approvals.add(ExactCommand("make"))
    assert approvals.load() == {ExactCommand("make")}


def test_approvals_that_cannot_be_written_do_no_harm(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    ApprovalFile(blocked / "permissions.json", tmp_path).add(ExactCommand("make"))
