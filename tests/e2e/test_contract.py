"""The wire contract over the whole product: negotiation, commands, progress, order (PROTOCOL)."""

from typing import Any

import pytest

from tests.e2e.conftest import StartServer
from tests.e2e.raw_client import RawClient
from tests.simulator import Interruption, Reply, Simulator

HANGS = Reply("Never said.", interruption=Interruption("hang", after_events=3))


def methods(client: RawClient) -> set[str]:
    return {message["method"] for message in client.messages if "method" in message}


def test_a_client_gets_no_notification_that_it_refused(start_server: StartServer) -> None:
    with Simulator(replies=[Reply("Yes.")]) as simulator:
        client = start_server(simulator, agent={"update": False, "gauge": False, "compaction": False})
        assert client.request("agent/prompt", {"prompt": "Are you there?"})["text"] == "Yes."
        assert not {name for name in methods(client) if name.startswith("agent/")}


def test_another_protocol_version_is_served_and_said(start_server: StartServer) -> None:
    with Simulator() as simulator:
        client = start_server(simulator, agent={"protocolVersion": 7})
        assert client.request("agent/status", {})["protocolVersion"] == 1
        logged = [params["message"] for params in client.notifications("window/logMessage")]
        assert any("version 1, not 7" in message for message in logged)


def test_the_server_says_what_it_can(start_server: StartServer) -> None:
    with Simulator() as simulator:
        client = start_server(simulator)
        capabilities = client.messages[0]["result"]["capabilities"]
        agent = capabilities["experimental"]["agent"]
        assert agent["protocolVersion"] == 1
        assert agent["commands"] == capabilities["executeCommandProvider"]["commands"]
        assert capabilities["positionEncoding"] == "utf-16"
        assert capabilities["textDocumentSync"]["change"] == 2


def test_a_client_without_any_plugin_can_do_everything(start_server: StartServer) -> None:
    def command(name: str, *arguments: Any) -> Any:
        return client.request("workspace/executeCommand", {"command": f"agent.{name}", "arguments": list(arguments)})

    with Simulator(replies=[Reply("Hello.")]) as simulator:
        client = start_server(simulator)
        answered = command("prompt", "Good day!")
        assert answered["text"] == "Hello."
        assert command("context")["total"] == answered["gauge"]["used"]
        assert command("compact", "the greeting")["outcome"] == "nothingToCompact"
        assert command("sessions")["sessions"][0]["sessionId"] == answered["sessionId"]
        assert command("resumeSession", {"sessionId": "latest"})["sessionId"] == answered["sessionId"]
        assert command("undoCompaction")["undone"] is False
        assert command("steer", {"sessionId": answered["sessionId"], "prompt": "x"}) == {"accepted": False}
        assert command("status")["version"]
        assert command("memory")["path"].endswith("MEMORY.md")
        opened = command("newSession")
        assert command("closeSession") == {"sessionId": opened["sessionId"]}
        another = command("newSession")
        assert command("deleteSession", {"sessionId": another["sessionId"]}) == {"sessionId": another["sessionId"]}


def test_a_prompt_cancelled_before_the_server_is_ready_has_a_result(start_server: StartServer) -> None:
    """Neovim never calls back for an error -32800 (its rpc.lua drops the answer), so a result it is."""
    with Simulator(replies=[Reply("Too late.")]) as simulator:
        client = start_server(simulator)
        identifier = client.start_request("agent/prompt", {"prompt": "Never mind."})
        client.notify("$/cancelRequest", {"id": identifier})
        assert client.response(identifier)["result"]["stopReason"] == "cancelled"
        assert simulator.requests == []


def test_progress_is_shown_with_the_clients_token_and_can_be_cancelled_there(start_server: StartServer) -> None:
    with Simulator(replies=[Reply("Hello."), HANGS]) as simulator:
        client = start_server(simulator)
        client.request("agent/prompt", {"prompt": "Hello", "workDoneToken": "first"})
        shown = [(each["token"], each["value"]["kind"]) for each in client.notifications("$/progress")]
        assert shown == [("first", "begin"), ("first", "end")]
        identifier = client.start_request("agent/prompt", {"prompt": "Wait", "workDoneToken": 2})
        client.wait_for(
            lambda message: message.get("params", {}).get("update", {}).get("sessionUpdate") == "agent_message_chunk"
        )
        client.notify("window/workDoneProgress/cancel", {"token": 2})
        assert client.response(identifier)["result"]["stopReason"] == "cancelled"
        assert client.notifications("$/progress")[-1] == {"token": 2, "value": {"kind": "end"}}


@pytest.mark.parametrize("method", ["agent/status", "agent/context", "agent/sessions", "agent/memory"])
def test_questions_are_answered_while_a_turn_runs(start_server: StartServer, method: str) -> None:
    with Simulator(replies=[HANGS]) as simulator:
        client = start_server(simulator)
        identifier = client.start_request("agent/prompt", {"prompt": "Wait"})
        simulator.wait_until_hanging()
        assert client.request(method, {})
        client.notify("agent/cancel", {"sessionId": client.notifications("agent/gauge")[0]["sessionId"]})
        assert client.response(identifier)["result"]["stopReason"] == "cancelled"


def test_a_turns_updates_come_before_its_answer_and_count_up_by_one(start_server: StartServer) -> None:
    words = [f"word{number} " for number in range(300)]
    with Simulator(replies=[Reply(words), Reply(words)]) as simulator:
        client = start_server(simulator)
        for _ in range(2):
            identifier = client.start_request("agent/prompt", {"prompt": "Talk."})
            result = client.response(identifier)["result"]
            chunks = [each for each in client.notifications("agent/update") if each["turnId"] == result["turnId"]]
            said = "".join(
                each["update"]["content"]["text"]
                for each in chunks
                if each["update"]["sessionUpdate"] == "agent_message_chunk"
            )
            assert said.strip() == result["text"].strip() == "".join(words).strip()
            assert client.notifications("agent/gauge")[-1] == result["gauge"]
        client.request("agent/status", {})
        sequence = [each["seq"] for each in client.notifications("agent/update")]
        assert sequence == list(range(1, len(sequence) + 1))


def test_the_logs_level_is_a_setting_and_its_lines_go_to_the_client(start_server: StartServer) -> None:
    with Simulator() as simulator:
        client = start_server(simulator, settings={"logLevel": "error", "unknownSetting": 1})
        client.request("agent/status", {})
        assert all(each["type"] == 1 for each in client.notifications("window/logMessage"))
        assert any("unknownSetting" in each["message"] for each in client.notifications("window/showMessage"))


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"prompt": [{"type": "image", "data": "é", "mimeType": "image/png"}]}, -32602),
        ({"prompt": "hello", "workspace": "\ud800"}, -32803),
        ({"prompt": "hello", "workspace": "file:///%00"}, -32803),
        ({"prompt": "hello", "workspace": "x" * 5_000}, -32803),
    ],
)
def test_params_that_only_a_handler_can_judge_are_no_bug(
    start_server: StartServer, params: dict[str, Any], code: int
) -> None:
    with Simulator(replies=[Reply("Yes.")]) as simulator:
        client = start_server(simulator)
        client.notify("textDocument/didOpen", {"textDocument": _document("file:///%ED%A0%80/\ud800")})
        assert client.error("agent/prompt", params)["code"] == code
        assert client.request("agent/prompt", {"prompt": "Are you there?"})["text"] == "Yes."
        assert client.shut_down() == 0
        client.kill()
    assert b"Traceback" not in client.stderr


def _document(uri: str) -> dict[str, Any]:
    return {"uri": uri, "languageId": "x", "version": 1, "text": ""}
