"""Logs, kills and resumes through the real server (DESIGN §4; FAULTS 15, 30-33)."""

import random
import stat
from pathlib import Path
from typing import Any

import pytest

from agent_ls.history import History
from tests.e2e.conftest import StartServer, allow
from tests.e2e.raw_client import RawClient
from tests.simulator import RecordedRequest, Reply, Simulator, ToolCall, hang


def test_a_killed_session_resumes_with_nothing_lost(start_server: StartServer, workspace: Path) -> None:
    with Simulator(replies=[Reply("I will remember 7."), Reply("It was 7.")]) as simulator:
        client = start_server(simulator)
        first = client.request("agent/prompt", {"prompt": "Remember 7."})
        client.kill()
        again = start_server(simulator)
        opened = again.request("agent/resumeSession", {"sessionId": "latest"})
        assert opened["sessionId"] == first["sessionId"]
        texts = [update["content"]["text"] for update in opened["history"]]
        assert texts == ["Remember 7.", "I will remember 7."]
        assert again.request("agent/prompt", {"prompt": "Which number?"})["text"] == "It was 7."
        assert "Remember 7." in str(simulator.requests[-1].body)
        assert not simulator.refused


def test_the_gauge_names_the_model_before_anything_was_asked(start_server: StartServer) -> None:
    with Simulator(replies=[Reply("Hello.")]) as simulator:
        client = start_server(simulator, model=None, environ={"ANTHROPIC_API_KEY": ""})
        default = client.request("agent/newSession", {})["gauge"]["model"]
        assert default.startswith("openai:")
        assert client.request("agent/prompt", {"prompt": "Hello?"})["gauge"]["model"] == default
        client.notify("workspace/didChangeConfiguration", {"settings": {"agentLs": {"model": "openai:gpt-5"}}})
        assert client.request("agent/newSession", {})["gauge"]["model"] == "openai:gpt-5"


def test_the_gauge_knows_the_window_of_local_before_anything_was_asked(start_server: StartServer) -> None:
    with Simulator() as simulator:
        assert start_server(simulator, model="local").request("agent/newSession", {})["gauge"]["window"] == 8_192


def test_files_are_private_and_ignored_by_git(start_server: StartServer, workspace: Path) -> None:
    with Simulator(replies=[Reply("Hello.")]) as simulator:
        start_server(simulator).request("agent/prompt", {"prompt": "hello"})
    own = workspace / ".agent_ls"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert (own / ".gitignore").read_text().strip() == "*"
    (log,) = (own / "sessions").glob("*.jsonl")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_nothing_is_left_but_what_was_asked_for_and_the_directory_of_the_agent(
    start_server: StartServer, workspace: Path, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    long = ToolCall("run_command", {"command": "seq 20000"})
    write = ToolCall("write_file", {"path": "made.txt", "content": "made"})
    find = ToolCall("search_files", {"pattern": "made"})
    replies = [Reply(tool_calls=[long, write]), Reply(tool_calls=[find]), Reply("Done.")]
    with Simulator(replies=replies, otherwise=Reply("## Goal\nMake a file.")) as simulator:
        client = start_server(
            simulator,
            environ={"TMPDIR": str(temporary)},
            agent={"permission": True},
            answers={"agent/requestPermission": allow()},
        )
        assert client.request("agent/prompt", {"prompt": "make it"})["text"] == "Done."
        client.request("agent/compact", {})
        assert client.shut_down() == 0
    assert sorted(path.name for path in workspace.iterdir()) == [".agent_ls", "made.txt"]
    assert list((workspace / ".agent_ls").rglob(".*.agent-ls")) == []  # half-written files
    assert list(temporary.iterdir()) == []


def test_half_an_answer_is_kept_when_the_server_is_told_to_end(start_server: StartServer, workspace: Path) -> None:
    with Simulator(replies=[hang(after_events=4)]) as simulator:
        client = start_server(simulator)
        client.start_request("agent/prompt", {"prompt": "go"})
        simulator.wait_until_hanging()
        client.wait_for(lambda message: "agent_message_chunk" in str(message))
        client.process.terminate()
        client.process.wait(30)
        (log,) = (workspace / ".agent_ls" / "sessions").glob("*.jsonl")
        said = str([original.message for original in History.resume(log).originals()])
        assert "waiting for" in said


def test_a_second_server_may_not_write_the_same_session(start_server: StartServer) -> None:
    with Simulator(replies=[Reply("one"), Reply("two")]) as simulator:
        first = start_server(simulator)
        session = first.request("agent/prompt", {"prompt": "hello"})["sessionId"]
        second = start_server(simulator)
        error = second.error("agent/resumeSession", {"sessionId": session})
        assert error["data"]["kind"] == "sessionLocked"
        assert second.request("agent/prompt", {"prompt": "my own"})["text"] == "two"


def test_sessions_are_listed_resumed_closed_and_deleted(start_server: StartServer) -> None:
    with Simulator(replies=[Reply("one"), Reply("two"), Reply("three")], otherwise=Reply("A sentence.")) as simulator:
        client = start_server(simulator, settings={"memoryCompressionEnabled": False})
        first = client.request("agent/prompt", {"prompt": "first prompt"})["sessionId"]
        assert client.request("agent/newSession")["history"] == []
        second = client.request("agent/prompt", {"prompt": "second prompt"})["sessionId"]
        rows = client.request("agent/sessions")["sessions"]
        assert {row["sessionId"]: row["title"] for row in rows} == {first: "first prompt", second: "second prompt"}
        assert [row["sessionId"] for row in rows if row["active"]] == [second]
        assert client.request("agent/resumeSession", {"sessionId": first})["sessionId"] == first
        client.request("agent/closeSession", {"sessionId": first})
        client.request("agent/deleteSession", {"sessionId": first})
        assert [row["sessionId"] for row in client.request("agent/sessions")["sessions"]] == [second]
        assert client.error("agent/resumeSession", {"sessionId": first})["data"]["kind"] == "sessionNotFound"


def test_a_deleted_session_leaves_no_long_outputs_and_takes_nobody_elses(
    start_server: StartServer, workspace: Path
) -> None:
    (workspace / "long.txt").write_text("a line of a long file\n" * 4_000)
    show = Reply(tool_calls=[ToolCall("run_command", {"command": "cat long.txt"})])
    with Simulator(replies=[show, Reply("one"), show, Reply("two")]) as simulator:
        settings = {"memoryCompressionEnabled": False, "permissionMode": "bypass"}
        client = start_server(simulator, settings=settings)
        first = client.request("agent/prompt", {"prompt": "show"})["sessionId"]
        client.request("agent/newSession", {})
        second = client.request("agent/prompt", {"prompt": "show"})["sessionId"]
        outputs = workspace / ".agent_ls" / "outputs"
        assert {path.name for path in outputs.iterdir()} == {first, second}
        client.request("agent/deleteSession", {"sessionId": first})
        assert {path.name for path in outputs.iterdir()} == {second}
        for wrong in ("..", f"../outputs/{second}", "."):
            assert client.error("agent/deleteSession", {"sessionId": wrong})["data"]["kind"] == "sessionNotFound"
        assert {path.name for path in outputs.iterdir()} == {second}
        client.request("agent/deleteSession", {"sessionId": second})  # the active one
        assert list(outputs.iterdir()) == []


def test_a_prompt_sent_behind_a_resume_goes_to_the_resumed_session(start_server: StartServer) -> None:
    with Simulator(replies=[Reply("Noted."), Reply("Forty-two.")]) as simulator:
        client = start_server(simulator, settings={"memoryCompressionEnabled": False})
        first = client.request("agent/prompt", {"prompt": "The number is 42."})["sessionId"]
        client.request("agent/newSession", {})
        client.start_request("agent/resumeSession", {"sessionId": first})
        assert client.request("agent/prompt", {"prompt": "Which number?"})["sessionId"] == first
        assert "The number is 42." in str(simulator.requests[-1].body)


def _script(request: RecordedRequest) -> Reply:
    """Two rounds of tools for every prompt, then an answer that repeats the prompt's number."""
    messages = request.body["messages"]
    last_user = max(index for index, message in enumerate(messages) if message["role"] == "user")
    results = sum(message["role"] == "tool" for message in messages[last_user:])
    if results < 2:
        return Reply(
            tool_calls=[ToolCall("read_file", {"path": "a.py"}), ToolCall("list_directory", {"path": "."})][
                : 2 - results
            ]
        )
    return Reply(f"answer {messages[last_user]['content']}")


@pytest.mark.parametrize("seed", range(25))
def test_fault_33_killed_at_any_moment_every_answered_turn_is_there(
    start_server: StartServer, workspace: Path, seed: int
) -> None:
    """SIGKILL after a random number of messages from the server, in the middle of whatever it does."""
    (workspace / "a.py").write_text("x = 1\n")
    moment = random.Random(seed).randint(3, 60)
    with Simulator(replies=_script) as simulator:
        client = start_server(simulator)
        answered = _prompt_until(client, moment)
        client.kill()
        again = start_server(simulator)
        if answered:
            opened = again.request("agent/resumeSession", {"sessionId": "latest"})
            said = [
                update["content"]["text"]
                for update in opened["history"]
                if "content" in update and isinstance(update["content"], dict)
            ]
            for number in range(answered):
                assert f"prompt {number}" in said
                assert f"answer prompt {number}" in "".join(said)
        result = again.request("agent/prompt", {"prompt": "after the kill"})
        assert result["text"] == "answer after the kill"
        assert not simulator.refused


def _prompt_until(client: RawClient, moment: int) -> int:
    """Prompt again and again until `moment` messages have come; how many prompts were answered."""
    answered = 0
    pending = client.start_request("agent/prompt", {"prompt": "prompt 0"})
    for _ in range(moment):
        message: dict[str, Any] = client.receive()
        if message.get("id") == pending and "method" not in message:
            answered += 1
            pending = client.start_request("agent/prompt", {"prompt": f"prompt {answered}"})
    return answered


def test_fault_34_a_log_that_cannot_be_written_is_said_and_the_session_goes_on(
    start_server: StartServer, workspace: Path
) -> None:
    with Simulator(replies=[Reply("one"), Reply("two")]) as simulator:
        client = start_server(simulator, agent={"permission": True}, answers={"agent/requestPermission": allow()})
        assert client.request("agent/prompt", {"prompt": "hello"})["text"] == "one"
        (log,) = (workspace / ".agent_ls" / "sessions").glob("*.jsonl")
        log.unlink()
        result = client.request("agent/prompt", {"prompt": "still there?"})
        assert result["text"] == "two"


def test_a_folder_without_a_place_for_logs_is_said_and_keeps_no_other(workspace: Path, tmp_path: Path) -> None:
    bad, home = workspace / "bad", tmp_path / "home"
    bad.mkdir()
    home.mkdir()
    (bad / ".agent_ls").write_text("not a directory")
    (home / "agent-ls").write_text("not a directory either")
    with RawClient(home=home) as client:
        client.initialize(bad, workspace)
        shown = client.wait_for(lambda message: message.get("method") == "window/showMessage")
        assert "There is no place for sessions" in shown["params"]["message"]
        gauge = client.wait_for(lambda message: message.get("method") == "agent/gauge")
        assert gauge["params"]["workspace"] == workspace.as_uri()
        assert client.error("agent/newSession", {"workspace": str(bad)})["data"]["kind"] == "logUnwritable"
        (bad / ".agent_ls").unlink()
        assert client.request("agent/newSession", {"workspace": str(bad)})["gauge"]["workspace"] == bad.as_uri()
