"""The memory through the real server: two at once, killed at shutdown, by hand (FAULTS 29, 47)."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from tests.e2e.conftest import StartServer
from tests.simulator import Outcome, RecordedRequest, Reply, Simulator, hang

ASKS_FOR_A_SENTENCE = "Write ONE sentence"


def answers(request: RecordedRequest) -> Outcome:
    """A model that talks in a turn, and names the part that was worked on when it is asked for a sentence."""
    if ASKS_FOR_A_SENTENCE in request.text:
        part = re.search(r"part (\w+)", request.text)
        assert part is not None
        return Reply(f"Reworked part {part[1]} of the login form.")
    return Reply("It is done.")


def memory_lines(workspace: Path) -> list[str]:
    path = workspace / ".agent_ls" / "MEMORY.md"
    return [line.split(": ", 1)[1] for line in path.read_text().splitlines()] if path.exists() else []


def test_fault_47_two_servers_quit_at_once_and_both_sentences_are_there(
    start_server: StartServer, workspace: Path
) -> None:
    with Simulator(replies=answers) as simulator:
        clients = [start_server(simulator) for _ in range(2)]
        for client, part in zip(clients, ("alpha", "beta"), strict=True):
            client.request("agent/prompt", {"prompt": f"Rework part {part}"})
        quitting = [threading.Thread(target=client.shut_down) for client in clients]
        for thread in quitting:
            thread.start()
        for thread in quitting:
            thread.join()
        assert not simulator.refused
    assert sorted(memory_lines(workspace)) == [
        "Reworked part alpha of the login form.",
        "Reworked part beta of the login form.",
    ]


def test_killed_during_shutdown_the_sentence_appears_once_after_the_next_start(
    start_server: StartServer, workspace: Path
) -> None:
    slow = True

    def script(request: RecordedRequest) -> Outcome:
        return hang() if slow and ASKS_FOR_A_SENTENCE in request.text else answers(request)

    with Simulator(replies=script) as simulator:
        killed = start_server(simulator)
        killed.request("agent/prompt", {"prompt": "Rework part gamma"})
        killed.start_request("shutdown")
        simulator.wait_until_hanging()
        killed.kill()
        assert memory_lines(workspace) == []

        slow = False
        for _ in range(2):  # the second start finds nothing left to do
            client = start_server(simulator)
            client.request("agent/status", {})
            assert client.shut_down() == 0
        sentences = [request for request in simulator.requests if ASKS_FOR_A_SENTENCE in request.text]
    assert memory_lines(workspace) == ["Reworked part gamma of the login form."]
    assert len(sentences) == 2  # the one that hung, and one more


def test_a_session_without_an_answer_leaves_nothing(start_server: StartServer, workspace: Path) -> None:
    with Simulator(replies=answers) as simulator:
        assert start_server(simulator).shut_down() == 0
        assert not simulator.requests
    assert memory_lines(workspace) == []


def test_a_session_that_is_closed_is_remembered_and_the_next_one_is_told(
    start_server: StartServer, workspace: Path
) -> None:
    with Simulator(replies=answers) as simulator:
        client = start_server(simulator)
        client.request("agent/prompt", {"prompt": "Rework part delta"})
        client.request("agent/newSession", {})
        simulator.wait_for_requests(2)
        client.shut_down()
        client = start_server(simulator)
        client.request("agent/prompt", {"prompt": "What do you know?"})
        assert "Reworked part delta of the login form." in simulator.requests[2].text
        assert "(.agent_ls/MEMORY.md)" in simulator.requests[2].text


def test_a_line_by_hand_is_in_the_file_and_in_the_next_request(start_server: StartServer, workspace: Path) -> None:
    with Simulator(replies=answers) as simulator:
        client = start_server(simulator)
        client.request("agent/prompt", {"prompt": "/remember use tabs"})
        assert not simulator.requests
        shown = client.request("workspace/executeCommand", {"command": "agent.memory", "arguments": [{}]})
        assert shown["content"] == "- use tabs\n"
        assert "- use tabs" in shown["sent"]
        client.request("agent/prompt", {"prompt": "Hello"})
        assert "- use tabs" in simulator.requests[0].text


def test_fault_29_an_instruction_file_edited_meanwhile_is_in_the_next_request(
    start_server: StartServer, workspace: Path
) -> None:
    (workspace / "AGENTS.md").write_text("Always answer in Latin.\n")
    with Simulator(replies=answers) as simulator:
        client = start_server(simulator)
        client.request("agent/prompt", {"prompt": "Hello"})
        (workspace / "AGENTS.md").write_text("Always answer in Greek.\n")
        client.request("agent/prompt", {"prompt": "Hello again"})
        assert "Always answer in Latin." in simulator.requests[0].text
        assert "Always answer in Latin." not in simulator.requests[1].text
        assert "Always answer in Greek." in simulator.requests[1].text
