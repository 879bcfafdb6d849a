"""Steering, cancelling, provider errors, limits: a turn over the real wire (DESIGN §5)."""

from pathlib import Path

import pytest

from tests.e2e.conftest import StartServer, allow
from tests.e2e.raw_client import Json
from tests.simulator import Failure, Reply, Simulator, ToolCall, drop, hang


def run(command: str) -> Reply:
    return Reply(tool_calls=[ToolCall("run_command", {"command": command})])


def test_a_second_prompt_is_refused_while_a_turn_runs_and_queued_on_wish(start_server: StartServer) -> None:
    with Simulator(replies=[hang(), Reply("second")]) as simulator:
        client = start_server(simulator)
        first = client.start_request("agent/prompt", {"prompt": "one"})
        simulator.wait_until_hanging()
        error = client.error("agent/prompt", {"prompt": "two"})
        assert (error["code"], error["data"]["kind"]) == (-32803, "sessionBusy")
        queued = client.start_request("agent/prompt", {"prompt": "three", "whenBusy": "queue"})
        assert client.request("agent/status")["protocolVersion"] == 1
        simulator.release()
        assert client.response(first)["result"]["stopReason"] == "end_turn"
        assert client.response(queued)["result"]["text"] == "second"
        assert not simulator.refused


def test_a_queued_prompt_does_not_run_when_the_client_is_gone(start_server: StartServer) -> None:
    with Simulator(replies=[hang(), Reply("Nobody reads this.")]) as simulator:
        client = start_server(simulator, settings={"memoryCompressionEnabled": False})
        client.start_request("agent/prompt", {"prompt": "one"})
        simulator.wait_until_hanging()
        client.start_request("agent/prompt", {"prompt": "TOO-LATE", "whenBusy": "queue"})
        assert client.request("agent/status")["protocolVersion"] == 1
        client.leave()
        assert "TOO-LATE" not in str([request.body for request in simulator.requests])


@pytest.mark.parametrize("how", ["request", "notification"])
def test_cancelling_a_stream_answers_cancelled_and_keeps_what_was_said(start_server: StartServer, how: str) -> None:
    with Simulator(replies=[hang(after_events=3), Reply("Going on.")]) as simulator:
        client = start_server(simulator)
        identifier = client.start_request("agent/prompt", {"prompt": "one"})
        simulator.wait_until_hanging()
        gauge = client.notifications("agent/gauge") or [
            client.wait_for(lambda message: message.get("method") == "agent/gauge")["params"]
        ]
        if how == "request":
            client.notify("$/cancelRequest", {"id": identifier})
        else:
            client.notify("agent/cancel", {"sessionId": gauge[-1]["sessionId"]})
        assert client.response(identifier)["result"]["stopReason"] == "cancelled"
        assert client.request("agent/prompt", {"prompt": "go on"})["text"] == "Going on."
        assert not simulator.refused


def test_fault_15_cancelling_a_command_ends_it_and_every_call_has_one_result(
    start_server: StartServer, workspace: Path
) -> None:
    with Simulator(replies=[run("echo $$ > pid; sleep 600"), Reply("Stopped.")]) as simulator:
        client = start_server(simulator, agent={"permission": True}, answers={"agent/requestPermission": allow()})
        identifier = client.start_request("agent/prompt", {"prompt": "sleep"})
        client.wait_for(lambda message: message.get("method") == "agent/requestPermission")
        while not (workspace / "pid").exists() or not (workspace / "pid").read_text().strip():
            client.request("agent/status")
        client.notify("$/cancelRequest", {"id": identifier})
        assert client.response(identifier)["result"]["stopReason"] == "cancelled"
        process = Path("/proc") / (workspace / "pid").read_text().strip()
        assert not process.exists()
        assert client.request("agent/compact")["outcome"] in ("nothingToCompact", "summarizerFailed")
        assert client.request("agent/prompt", {"prompt": "and now?"})["text"] == "Stopped."
        assert not simulator.refused


def test_steering_reaches_the_next_request(start_server: StartServer) -> None:
    def script(request: object) -> Reply:
        return replies[len(simulator.requests) - 1]

    replies = [run("true"), Reply("Tabs then.")]
    asked: list[object] = []

    def answer(params: Json) -> Json:
        asked.append(params)
        client.start_request("agent/steer", {"sessionId": params["sessionId"], "prompt": "Use tabs"})
        return allow()(params)

    with Simulator(replies=script) as simulator:
        client = start_server(simulator, agent={"permission": True}, answers={"agent/requestPermission": answer})
        result = client.request("agent/prompt", {"prompt": "indent"})
        assert result["text"] == "Tabs then."
        assert "Use tabs" in str(simulator.requests[-1].body)
        assert client.request("agent/steer", {"sessionId": result["sessionId"], "prompt": "late"}) == {
            "accepted": False
        }
        assert not simulator.refused


def test_fault_24_transient_errors_are_tried_again_and_shown(start_server: StartServer) -> None:
    with Simulator(replies=[Failure(529), drop(after_events=2), Reply("At last.")]) as simulator:
        client = start_server(simulator)
        assert client.request("agent/prompt", {"prompt": "hello"})["text"] == "At last."
        warned = [warning["id"] for gauge in client.notifications("agent/gauge") for warning in gauge["warnings"]]
        assert "retrying" in warned
        assert client.notifications("agent/gauge")[-1]["warnings"] == []


@pytest.mark.parametrize(
    ("failure", "words"),
    [(Failure(401), "credentials"), (Failure(404), "knows no model"), (Failure(402), "quota")],
)
def test_fatal_errors_end_the_turn_in_words_and_the_session_goes_on(
    start_server: StartServer, failure: Failure, words: str
) -> None:
    with Simulator(replies=[failure, Reply("Better.")]) as simulator:
        client = start_server(simulator)
        error = client.error("agent/prompt", {"prompt": "hello"})
        assert error["code"] == -32803
        assert error["data"]["kind"] == "providerError"
        assert words in error["message"]
        assert client.request("agent/prompt", {"prompt": "again"})["text"] == "Better."
        assert not [request for request in simulator.refused if request.refused]


def test_the_request_limit_ends_a_turn(start_server: StartServer) -> None:
    look = Reply(tool_calls=[ToolCall("list_directory", {"path": "."})])
    with Simulator(replies=[], otherwise=look) as simulator:
        client = start_server(simulator, settings={"maxRequestsPerTurn": 3})
        result = client.request("agent/prompt", {"prompt": "loop"})
        assert result["stopReason"] == "max_turn_requests"
        assert len(simulator.requests) == 3


def test_a_model_that_keeps_calling_badly_does_not_end_the_turn(start_server: StartServer) -> None:
    bad = Reply(tool_calls=[ToolCall("read_file", {"nonsense": 1})])
    with Simulator(replies=[*[bad] * 12, Reply("I give up.")]) as simulator:
        client = start_server(simulator)
        assert client.request("agent/prompt", {"prompt": "read"})["text"] == "I give up."
        assert not simulator.refused


def test_a_missing_key_says_what_to_do(start_server: StartServer) -> None:
    with Simulator() as simulator:
        client = start_server(simulator, model="google:gemini-2.5-pro")
        error = client.error("agent/prompt", {"prompt": "hello"})
        assert error["data"]["kind"] == "modelUnavailable"
        assert "GOOGLE_API_KEY" in error["message"]
