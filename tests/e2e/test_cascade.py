"""The cascade through the real server over HTTP: tiers fire where they must, nothing is refused, nothing is lost."""

import json
import re
from pathlib import Path
from typing import Any

from tests.e2e.conftest import StartServer
from tests.e2e.raw_client import RawClient
from tests.simulator import RecordedRequest, Reply, Simulator, ToolCall, Usage, hang

SUMMARY = """# Conversation summary
## Goal
Keep the inventory right.
## Constraints & Preferences
None
## Progress
### Done
Read files.
### In Progress
None
### Blocked
None
## Key Decisions
None
## Next Steps
None
## Critical Context
None
"""


def is_summary_request(request: RecordedRequest) -> bool:
    return "<conversation>" in json.dumps(request.body)


def compactions(client: RawClient, *, status: str = "completed") -> list[Any]:
    return [event for event in client.notifications("agent/compaction") if event["status"] == status]


def reading(path: str) -> Reply:
    return Reply(tool_calls=[ToolCall("read_file", {"path": path})])


class Reader:
    """Reads a new file for every prompt, answers, and summarises when asked to."""

    def __init__(self, summary: str = SUMMARY) -> None:
        self.summary = summary
        self.prompts = 0

    def __call__(self, request: RecordedRequest) -> Reply:
        if is_summary_request(request):
            return Reply(self.summary)
        if request.body["messages"][-1]["role"] == "tool":
            return Reply("Read it. " + "It computes one value after another. " * 60)
        self.prompts += 1
        return reading(f"f{self.prompts}.txt")


def fill(workspace: Path, files: int, lines: int = 120) -> None:
    for number in range(1, files + 1):
        text = "\n".join(f"value_{number}_{line} = compute({line}, 'item {line}')" for line in range(lines))
        (workspace / f"f{number}.txt").write_text(f"MARKER-{number}\n{text}\n")


def test_a_long_conversation_in_a_small_window_is_never_refused(start_server: StartServer, workspace: Path) -> None:
    fill(workspace, 30)
    with Simulator(window=16_000, replies=Reader()) as simulator:
        client = start_server(simulator, settings={"compactionContextWindowTokens": 16_000})
        for number in range(21):
            result = client.request("agent/prompt", {"prompt": f"Read file {number + 1}. RULE-{number}"})
            assert result["text"].startswith("Read it.")
        assert not simulator.refused
        assert max(request.input_tokens for request in simulator.requests) <= 16_000
        tiers = {event["tier"] for event in compactions(client)}
        assert tiers == {"micro", "full"}
        last = json.dumps(simulator.requests[-1].body)
        assert "RULE-0" in last
        gauge = client.notifications("agent/gauge")[-1]
        assert gauge["percent"] < 80


def test_a_parallel_round_that_is_larger_than_the_window_is_bounded_as_a_whole(
    start_server: StartServer, workspace: Path
) -> None:
    fill(workspace, 12)
    together = Reply(tool_calls=[ToolCall("read_file", {"path": f"f{number}.txt"}) for number in range(1, 13)])
    with Simulator(window=8_000, replies=[together, Reply("Read them all.")]) as simulator:
        client = start_server(simulator, settings={"compactionContextWindowTokens": 8_000})
        result = client.request("agent/prompt", {"prompt": "Read all twelve at once."})
        assert result["text"] == "Read them all."
        assert not simulator.refused
        seen = simulator.requests[-1]
        assert seen.input_tokens <= 6_400
        assert [f"MARKER-{number}\n" in seen.text for number in range(1, 13)] == [True] * 12
        assert seen.text.count("recall(id=") >= 12


def test_a_prompt_larger_than_the_window_is_an_error_with_numbers_and_the_session_goes_on(
    start_server: StartServer, workspace: Path
) -> None:
    def answer(request: RecordedRequest) -> Reply:
        return Reply(SUMMARY) if is_summary_request(request) else Reply("Here I am.")

    with Simulator(window=8_000, replies=answer) as simulator:
        client = start_server(simulator, settings={"compactionContextWindowTokens": 8_000})
        error = client.error("agent/prompt", {"prompt": "HUGE-RULE: never push. " + "The log says nothing. " * 2_000})
        assert error["data"]["kind"] == "contextTooLarge"
        needed, window = (int(number.replace(",", "")) for number in re.findall(r"[\d,]+\d", error["message"])[:2])
        assert window == 8_000 < needed
        assert simulator.requests == []
        assert client.request("agent/prompt", {"prompt": "Are you there?"})["text"] == "Here I am."
        assert not simulator.refused
        assert "HUGE-RULE: never push." in simulator.requests[-1].text
        assert simulator.requests[-1].input_tokens <= 8_000


def test_fault_01_one_compaction_after_a_full_turn_and_nothing_injected(
    start_server: StartServer, workspace: Path
) -> None:
    fill(workspace, 3, lines=200)
    big = Usage(input=170_000, output=10)
    replies = [
        *[reading("f1.txt"), reading("f2.txt"), Reply("Done.")],
        Reply("All good.", usage=big),
        Reply(SUMMARY),
    ]
    with Simulator(replies=replies) as simulator:
        client = start_server(
            simulator, settings={"compactionContextWindowTokens": 200_000, "compactionKeepRecentTokens": 500}
        )
        client.request("agent/prompt", {"prompt": "read"})
        result = client.request("agent/prompt", {"prompt": "and?"})
        assert result["stopReason"] == "end_turn"
        (done,) = compactions(client)
        assert (done["tier"], done["trigger"]) == ("full", "turnEnd")
        assert len(simulator.requests) == 5
        assert result["gauge"]["used"]["basis"] == "estimated"
        assert result["gauge"]["used"]["count"] < 170_000


def test_compact_undo_and_resume(start_server: StartServer, workspace: Path) -> None:
    fill(workspace, 4)
    replies = [
        reading("f1.txt"),
        Reply("Read it."),
        reading("f2.txt"),
        Reply("Read it."),
        Reply(SUMMARY),
        Reply("Yes."),
    ]
    with Simulator(replies=replies) as simulator:
        client = start_server(simulator, settings={"compactionKeepRecentTokens": 300})
        client.request("agent/prompt", {"prompt": "Read the first. ALWAYS-USE-TABS"})
        client.request("agent/prompt", {"prompt": "Read the second."})
        result = client.request("agent/compact", {"focus": "the inventory"})
        assert result["outcome"] == "compacted", result
        assert "the inventory" in json.dumps(simulator.requests[-1].body)
        assert result["after"]["count"] < result["before"]["count"]
        assert client.request("agent/compact")["outcome"] == "nothingToCompact"
        context = client.request("agent/context")
        assert sum(category["tokens"]["count"] for category in context["categories"]) == context["total"]["count"]
        client.request("agent/prompt", {"prompt": "Remember the tabs?"})
        body = json.dumps(simulator.requests[-1].body)
        assert "ALWAYS-USE-TABS" in body
        assert "MARKER-1" not in body
        undone = client.request("agent/undoCompaction")
        assert undone["undone"], undone
        client.kill()
        again = start_server(simulator)
        opened = again.request("agent/resumeSession", {"sessionId": "latest"})
        shown = [
            update["content"]["text"]
            for update in opened["history"]
            if "text" in str(update.get("content")) and isinstance(update["content"], dict)
        ]
        assert "Read the first. ALWAYS-USE-TABS" in shown
        simulator.play(Reply("Back."))
        again.request("agent/prompt", {"prompt": "And now?"})
        assert "MARKER-1" in json.dumps(simulator.requests[-1].body)
        assert not simulator.refused


def test_the_gauge_knows_the_last_compaction_after_a_restart_and_none_once_it_is_undone(
    start_server: StartServer, workspace: Path
) -> None:
    fill(workspace, 2)
    replies = [reading("f1.txt"), Reply("Read it."), reading("f2.txt"), Reply("Read it."), Reply(SUMMARY)]
    settings = {"compactionKeepRecentTokens": 300}
    with Simulator(replies=replies) as simulator:
        client = start_server(simulator, settings=settings)
        client.request("agent/prompt", {"prompt": "Read the first."})
        client.request("agent/prompt", {"prompt": "Read the second."})
        result = client.request("agent/compact")
        last = result["gauge"]["lastCompaction"]
        assert (last["tier"], last["before"], last["after"]) == ("full", result["before"], result["after"])
        client.kill()
        again = start_server(simulator, settings=settings)
        assert again.request("agent/resumeSession", {"sessionId": "latest"})["gauge"]["lastCompaction"] == last
        assert again.request("agent/undoCompaction")["gauge"]["lastCompaction"] is None


def test_fault_39_a_cancelled_compaction_is_over_for_the_client_too(start_server: StartServer, workspace: Path) -> None:
    fill(workspace, 2)
    replies = [reading("f1.txt"), Reply("Read it."), reading("f2.txt"), Reply("Read it."), hang()]
    with Simulator(replies=replies) as simulator:
        client = start_server(simulator, settings={"compactionKeepRecentTokens": 300})
        client.request("agent/prompt", {"prompt": "Read the first."})
        client.request("agent/prompt", {"prompt": "Read the second."})
        identifier = client.start_request("agent/compact", {})
        simulator.wait_until_hanging()
        client.notify("$/cancelRequest", {"id": identifier})
        assert client.response(identifier)["error"]["code"] == -32800
        assert [event["status"] for event in client.notifications("agent/compaction")] == ["started", "cancelled"]
        assert client.notifications("agent/gauge")[-1]["state"] == "idle"


def test_slash_compact_is_the_same(start_server: StartServer, workspace: Path) -> None:
    with Simulator(replies=[Reply("Hi.")]) as simulator:
        client = start_server(simulator)
        client.request("agent/prompt", {"prompt": "hello"})
        assert client.request("agent/prompt", {"prompt": "/compact"})["text"] == "There is nothing to compact yet."
        assert "There is no command" in client.request("agent/prompt", {"prompt": "/compcat"})["text"]
        assert "tokens" in client.request("agent/prompt", {"prompt": "/context"})["text"]
        assert len(simulator.requests) == 1
