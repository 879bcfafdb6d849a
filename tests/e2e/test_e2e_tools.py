"""The tools over the real wire: the editor's buffers, permission, keys, and what is left behind (DESIGN §6)."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import StartServer, allow
from tests.e2e.raw_client import PATIENCE_SECONDS, Json, RawClient
from tests.simulator import API_KEY, Reply, Simulator, ToolCall

CAPABILITIES = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}


def call(tool: str, **arguments: Any) -> Reply:
    return Reply(tool_calls=[ToolCall(tool, arguments)])


def told(simulator: Simulator, index: int) -> str:
    """What the model was told in its request number `index`, as one text."""
    return str(simulator.requests[index].body)


class Buffer:
    """An open document, as an editor keeps it: edits of whole documents arrive with the version they are for."""

    def __init__(self, path: Path, text: str) -> None:
        self.uri = path.as_uri()
        self.lines = text
        self.version = 1
        self.edits: list[Json] = []

    def open_in(self, client: RawClient) -> None:
        self.client = client
        document = {"uri": self.uri, "languageId": "python", "version": self.version, "text": self.lines}
        client.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, text: str) -> None:
        self.lines, self.version = text, self.version + 1
        identifier = {"uri": self.uri, "version": self.version}
        self.client.notify(
            "textDocument/didChange", {"textDocument": identifier, "contentChanges": [{"text": self.lines}]}
        )

    def apply(self, params: Json) -> Json:
        [change] = params["edit"]["documentChanges"]
        self.edits.append(change)
        if change["textDocument"] != {"uri": self.uri, "version": self.version}:
            return {"applied": False, "failureReason": "another version"}
        [edit] = change["edits"]
        lines = self.lines.splitlines(keepends=True)
        first, last = edit["range"]["start"]["line"], edit["range"]["end"]["line"]
        self.change("".join([*lines[:first], edit["newText"], *lines[last:]]))
        return {"applied": True}


def test_fault_51_the_buffer_is_read_and_the_edit_goes_through_the_editor(
    start_server: StartServer, workspace: Path
) -> None:
    (workspace / "a.py").write_text("on disk\n")
    buffer = Buffer(workspace / "a.py", "first\nunsaved\nlast\n")
    replies = [
        call("read_file", path="a.py"),
        call("search_files", pattern="unsaved|disk"),
        call("edit_file", path="a.py", old_text="unsaved", new_text="edited"),
        call("read_file", path="a.py"),
        Reply("Done."),
    ]
    with Simulator(replies=replies) as simulator:
        answers = {"agent/requestPermission": allow(), "workspace/applyEdit": buffer.apply}
        client = start_server(simulator, agent={"permission": True}, answers=answers, capabilities=CAPABILITIES)
        buffer.open_in(client)
        assert client.request("agent/prompt", {"prompt": "Edit it."})["text"] == "Done."
        assert "unsaved" in told(simulator, 1)
        assert "a.py:2:unsaved" in told(simulator, 2)
        assert "on disk" not in told(simulator, 2)
        assert buffer.lines == "first\nedited\nlast\n"
        [change] = buffer.edits
        assert change["edits"][0]["range"]["start"]["line"] == 1
        assert "edited" in told(simulator, 4)
        assert (workspace / "a.py").read_text() == "on disk\n"
        assert not simulator.refused


def test_fault_51_an_edit_of_stale_text_is_refused(start_server: StartServer, workspace: Path) -> None:
    buffer = Buffer(workspace / "a.py", "one\ntwo\n")

    def type_then_allow(params: Json) -> Any:
        buffer.change("one\ntwo\nthree\n")
        return allow()(params)

    edit = call("edit_file", path="a.py", old_text="two", new_text="2")
    with Simulator(replies=[call("read_file", path="a.py"), edit, edit, Reply("Refused.")]) as simulator:
        answers = {"agent/requestPermission": type_then_allow, "workspace/applyEdit": buffer.apply}
        client = start_server(simulator, agent={"permission": True}, answers=answers, capabilities=CAPABILITIES)
        buffer.open_in(client)
        client.request("agent/prompt", {"prompt": "Edit it."})
        assert "has changed" in told(simulator, 2)
        assert "changed since you read it" in told(simulator, 3)
        assert buffer.lines == "one\ntwo\nthree\n"
        assert buffer.edits == []


@pytest.mark.parametrize("agent", [{}, {"permission": True}])
def test_without_an_answer_nothing_is_changed_and_the_model_is_told(
    start_server: StartServer, workspace: Path, agent: Json
) -> None:
    replies = [call("write_file", path="a.py", content="x"), call("run_command", command="touch b"), Reply("Then not.")]
    with Simulator(replies=replies) as simulator:
        client = start_server(simulator, agent=agent)
        assert client.request("agent/prompt", {"prompt": "Write."})["text"] == "Then not."
        assert "Not allowed" in told(simulator, 1)
        assert [path.name for path in workspace.iterdir()] == [".agent_ls"]


def test_a_key_is_in_nothing_that_is_written_or_said(
    start_server: StartServer, workspace: Path, tmp_path: Path
) -> None:
    canary = "canary-9f1c-key"
    replies = [call("run_command", command="env; cat /proc/$PPID/cmdline"), Reply("Looked.")]
    with Simulator(replies=replies) as simulator:
        client = start_server(
            simulator,
            agent={"permission": True},
            answers={"agent/requestPermission": allow()},
            environ={"GOOGLE_API_KEY": canary, "SOME_HEADERS": f"x-key: {canary}"},
        )
        client.request("agent/prompt", {"prompt": "Look."})
        client.request("agent/status")
        assert "PATH=" in told(simulator, 1)
        client.shut_down()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (canary, API_KEY):
        assert secret not in told(simulator, 1)
        assert secret not in str(client.messages)
        assert secret.encode() not in written + client.stderr


@pytest.fixture
def long_lived() -> str:
    """A command that leaves the process group and would outlive its server."""
    return "setsid sh -c 'echo $$ > pid; exec sleep 300' > /dev/null 2>&1 & while ! [ -s pid ]; do :; done"


@pytest.mark.parametrize("end", ["shutdown", "eof", "sigterm"])
def test_fault_50_the_editor_goes_and_no_child_stays(
    start_server: StartServer, workspace: Path, long_lived: str, end: str
) -> None:
    with Simulator(
        replies=[call("run_command", command=long_lived), Reply("Started.")], otherwise=Reply("-")
    ) as simulator:
        client = start_server(simulator, agent={"permission": True}, answers={"agent/requestPermission": allow()})
        client.request("agent/prompt", {"prompt": "Start it."})
        child = int((workspace / "pid").read_text())
        os.kill(child, 0)
        if end == "shutdown":
            client.shut_down()
        elif end == "eof":
            assert client.process.stdin is not None
            client.process.stdin.close()
        else:
            client.process.terminate()
        client.process.wait(PATIENCE_SECONDS)
    assert not _alive(child)


def test_fault_50_what_a_killed_server_leaves_the_next_one_ends(
    start_server: StartServer, workspace: Path, long_lived: str
) -> None:
    replies = [call("run_command", command=long_lived), Reply("Started.")]
    with Simulator(replies=replies, otherwise=Reply("-")) as simulator:
        client = start_server(simulator, agent={"permission": True}, answers={"agent/requestPermission": allow()})
        client.request("agent/prompt", {"prompt": "Start it."})
        child = int((workspace / "pid").read_text())
        client.kill()
        os.kill(child, 0)
        start_server(simulator).request("agent/prompt", {"prompt": "Are you there?"})
    assert not _alive(child)


def test_an_answer_for_the_workspace_is_kept_for_the_next_server(start_server: StartServer, workspace: Path) -> None:
    command = call("run_command", command="echo once >> log")

    def script(request: object) -> Reply:
        return command if len(simulator.requests) in (1, first_requests + 1) else Reply("-")

    first_requests = 10_000
    with Simulator(replies=script) as simulator:
        answers = {"agent/requestPermission": allow("allow_workspace")}
        first = start_server(simulator, agent={"permission": True}, answers=answers)
        first.request("agent/prompt", {"prompt": "Run."})
        first.shut_down()
        first_requests = len(simulator.requests)
        start_server(simulator).request("agent/prompt", {"prompt": "Again."})
    assert (workspace / "log").read_text() == "once\nonce\n"


def test_an_answer_that_is_late_doubled_or_for_another_call_changes_nothing(
    start_server: StartServer, workspace: Path
) -> None:
    write = call("write_file", path="a.py", content="x")
    with Simulator(replies=[write, write, Reply("Not.")], otherwise=Reply("-")) as simulator:
        client = start_server(simulator, agent={"permission": True})
        questions: list[Json] = []
        client._answer = questions.append  # type: ignore[method-assign,assignment]  # this person takes their time
        yes = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
        no = {"outcome": {"outcome": "selected", "optionId": "reject_once"}}

        def ask() -> int:
            identifier = client.start_request("agent/prompt", {"prompt": "Write."})
            client.wait_for(lambda message: message.get("method") == "agent/requestPermission")
            return identifier

        def answer(identifier: object, result: Json) -> None:
            client.send({"jsonrpc": "2.0", "id": identifier, "result": result})

        first = ask()
        client.notify("$/cancelRequest", {"id": first})
        assert client.response(first)["result"]["stopReason"] == "cancelled"
        answer(questions[0]["id"], yes)
        second = ask()
        answer(questions[0]["id"], yes)
        answer("of nobody", yes)
        answer(questions[1]["id"], no)
        answer(questions[1]["id"], yes)
        assert client.response(second)["result"]["text"] == "Not."
        assert not (workspace / "a.py").exists()
        assert client.request("agent/status")["protocolVersion"] == 1
        assert not simulator.refused


def test_a_client_that_goes_while_it_is_asked_has_said_no(start_server: StartServer, workspace: Path) -> None:
    with Simulator(replies=[call("write_file", path="a.py", content="x")], otherwise=Reply("-")) as simulator:
        client = start_server(simulator, agent={"permission": True})
        client._answer = lambda message: None  # type: ignore[method-assign]  # nobody is there
        client.start_request("agent/prompt", {"prompt": "Write."})
        client.wait_for(lambda message: message.get("method") == "agent/requestPermission")
        assert client.process.stdin is not None
        client.process.stdin.close()
        client.process.wait(PATIENCE_SECONDS)
    assert not (workspace / "a.py").exists()


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
