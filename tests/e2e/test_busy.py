"""Single flight: what is sent while a compaction runs (FAULTS 37, 38)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.e2e.conftest import StartServer
from tests.e2e.raw_client import RawClient
from tests.e2e.test_cascade import SUMMARY, fill, is_summary_request
from tests.simulator import Interruption, RecordedRequest, Reply, Simulator, ToolCall

HANGING_SUMMARY = Reply(SUMMARY, interruption=Interruption("hang"))


def script() -> Callable[[RecordedRequest], Reply]:
    """Two prompts that read a file each; the summary hangs until it is released."""
    reads = iter(["f1.txt", "f2.txt"])

    def reply(request: RecordedRequest) -> Reply:
        if is_summary_request(request):
            return HANGING_SUMMARY
        last = request.body["messages"][-1]
        if last["role"] == "user" and "Read" in json.dumps(last):
            return Reply(tool_calls=[ToolCall("read_file", {"path": next(reads)})])
        return Reply("Here.")

    return reply


def compacting(start_server: StartServer, simulator: Simulator) -> tuple[RawClient, int]:
    client = start_server(simulator, settings={"compactionKeepRecentTokens": 300})
    for prompt in ("Read one.", "Read two."):
        client.request("agent/prompt", {"prompt": prompt})
    identifier = client.start_request("agent/compact", {})
    simulator.wait_until_hanging()
    return client, identifier


def test_fault_37_a_prompt_during_a_compaction_is_refused_or_delivered_once(
    start_server: StartServer, workspace: Path
) -> None:
    fill(workspace, 2)
    with Simulator(replies=script()) as simulator:
        client, compaction = compacting(start_server, simulator)
        assert client.error("agent/prompt", {"prompt": "TURNED-AWAY"})["data"]["kind"] == "sessionBusy"
        queued = client.start_request("agent/prompt", {"prompt": "WAITING", "whenBusy": "queue"})
        simulator.release()
        assert client.response(compaction)["result"]["outcome"] == "compacted"
        assert client.response(queued)["result"]["stopReason"] == "end_turn"
        last = json.dumps(simulator.requests[-1].body)
        assert last.count("WAITING") == 1
        assert "TURNED-AWAY" not in last
        assert not simulator.refused


def test_fault_38_two_compactions_at_once_make_one_checkpoint(start_server: StartServer, workspace: Path) -> None:
    fill(workspace, 2)
    with Simulator(replies=script()) as simulator:
        client, first = compacting(start_server, simulator)
        assert client.request("agent/compact")["outcome"] == "busy"
        simulator.release()
        assert client.response(first)["result"]["outcome"] == "compacted"
        (log,) = (workspace / ".agent_ls" / "sessions").glob("*.jsonl")
        kinds = [json.loads(line)["type"] for line in log.read_bytes().splitlines()]
        assert kinds.count("compaction") == 1
