"""Commands: no keys, no leftovers, bounded output (FAULTS 50)."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import pytest

from agent_ls.protocol import TextContent, ToolCallText
from agent_ls.tools.processes import command_environment, end_orphans
from tests.fake_client import choose
from tests.tools.conftest import Bench


@pytest.fixture
def shell(bench: Bench) -> Bench:
    bench.mode("bypass")
    return bench


async def started(bench: Bench, count: int) -> set[int]:
    """Wait until the session has `count` processes."""
    while len(found := set(bench.environment.children.running())) < count:  # noqa: ASYNC110  # /proc sends no event
        await asyncio.sleep(0.01)
    return found


async def ended(processes: set[int]) -> None:
    """Wait until none of them runs: for ever, if one was not killed."""
    while any(alive(process) for process in processes):  # noqa: ASYNC110  # SIGKILL is not waited for
        await asyncio.sleep(0.01)


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_a_command_runs_in_the_workspace_and_tells_its_exit_code(shell: Bench) -> None:
    result = await shell.call("run_command", command="pwd; echo oops >&2; exit 3")
    assert str(shell.workspace) in result.content
    assert "oops" in result.content
    assert "exit code: 3" in result.content


async def test_a_command_sees_no_keys(shell: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GITHUB_TOKEN", "MY_SECRET", "AGENT_LS_MODEL"):
        monkeypatch.setenv(name, f"canary-{name}")
    monkeypatch.setenv("HEADERS", "x-auth: canary-OPENAI_API_KEY")
    monkeypatch.setenv("HARMLESS", "kept")
    result = await shell.call("run_command", command="env")
    assert "canary" not in result.content
    assert "HARMLESS=kept" in result.content


def test_short_values_do_not_take_other_variables_with_them() -> None:
    kept = command_environment({"API_KEY": "1", "LEVEL": "1", "SSH_AUTH_SOCK": "/run/agent"})
    assert kept["LEVEL"] == "1"
    assert kept["SSH_AUTH_SOCK"] == "/run/agent"
    assert "API_KEY" not in kept


async def test_fault_50_cancelling_ends_the_command_and_all_it_started(shell: Bench) -> None:
    command = "sleep 60 & setsid sleep 61 & (setsid sh -c 'sleep 62; true' &) ; sleep 63"
    turn = asyncio.create_task(shell.calls([("run_command", {"command": command})]))
    running = await started(shell, 5)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await ended(running)


async def test_fault_50_no_child_outlives_its_session(shell: Bench) -> None:
    result = await shell.call("run_command", command="setsid sleep 70 >/dev/null 2>&1 & sleep 71 >/dev/null 2>&1 &")
    assert result.outcome == "success"
    running = await started(shell, 2)
    shell.environment.kill_children()
    await ended(running)


async def test_ending_one_session_leaves_the_other_alone(shell: Bench) -> None:
    await shell.call("run_command", command="sleep 72 >/dev/null 2>&1 &")
    running = await started(shell, 1)
    other = shell.new_session()
    object.__setattr__(other.children, "session_id", "another")
    other.kill_children()
    assert all(alive(process) for process in running)


async def test_a_command_that_takes_too_long_is_ended_and_said(shell: Bench) -> None:
    result = await shell.call("run_command", command="setsid sleep 80 & sleep 81", timeout_seconds=0.3)
    assert "timed out" in result.content
    await ended(set(shell.environment.children.running()))


async def test_a_command_never_runs_longer_than_the_setting_says(shell: Bench) -> None:
    object.__setattr__(shell.settings, "shell_timeout_seconds", 0.3)
    result = await shell.call("run_command", command="sleep 90", timeout_seconds=1_000)
    assert "timed out" in result.content


async def test_output_is_bounded_with_head_and_tail_and_the_rest_can_be_recalled(shell: Bench) -> None:
    shell.window = 20_000
    result = await shell.call("run_command", command="seq 1 20000")
    assert len(result.content) < 7_000
    assert "1\n2\n3\n" in result.content
    assert "19999\n20000" in result.content
    assert 'recall(id="output-1"' in result.content
    page = await shell.call("recall", id="output-1", offset=50_000)
    assert "1000" in page.content


async def test_endless_output_is_cut_off(shell: Bench) -> None:
    result = await shell.call("run_command", command="yes | head -c 30000000")
    assert len(result.content) < 60_000


async def test_output_that_is_not_utf8_is_no_obstacle(shell: Bench) -> None:
    result = await shell.call("run_command", command="printf '\\377\\376 bad \\033[31mred'")
    assert "bad" in result.content
    result.content.encode()


async def test_a_command_that_waits_for_input_gets_none(shell: Bench) -> None:
    assert "done" in (await shell.call("run_command", command="cat; echo done")).content


async def test_a_command_that_needs_a_terminal_is_refused(shell: Bench) -> None:
    result = await shell.call("run_command", command="vim a.py")
    assert result.outcome == "failed"
    assert "nteractive" in result.content


async def test_the_question_shows_the_whole_command_on_one_line(bench: Bench) -> None:
    bench.client.otherwise = choose("reject_once")
    await bench.call("run_command", command="echo safe\n\x1b[2K\rrm -rf ~")
    [question] = bench.client.questions
    assert question.tool_call.title == r"Run echo safe\n\x1b[2K\rrm -rf ~"


async def test_no_file_is_left_in_the_workspace(shell: Bench) -> None:
    await shell.call("run_command", command="true")
    assert os.listdir(shell.workspace) == []  # noqa: PTH208  # names only


def test_fault_50_what_a_killed_server_left_behind_is_ended_and_nothing_else() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115  # no file has this name

    def child_of(server: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["sleep", "95"], env={"AGENT_LS_CHILD_OF": f"{namespace}/{server}:session:1"}, start_new_session=True
        )

    orphan, other = child_of(gone.pid), child_of(os.getpid())
    try:
        # The mark is there only when the child has become `sleep`; another test's server may find it first.
        while orphan.poll() is None:
            end_orphans()
        assert orphan.wait() == -signal.SIGKILL
        assert other.poll() is None
    finally:
        orphan.kill()
        other.kill()
        other.wait()


async def test_the_output_is_what_a_terminal_shows(shell: Bench) -> None:
    result = await shell.call("run_command", command=r"printf '10%%\r100%%\n\033[31mred\033[0m\n'")
    assert result.content == "[stdout]\n100%\nred\n"


async def test_the_question_holds_the_command_as_it_is(bench: Bench) -> None:
    command = "cat <<'E'\n" + "x" * 3_000 + "\nE\nrm -rf build"
    await bench.call("run_command", command=command)
    [question] = bench.client.questions
    assert question.tool_call.content == [ToolCallText(TextContent(command))]
    assert question.tool_call.title.endswith("more characters)")
