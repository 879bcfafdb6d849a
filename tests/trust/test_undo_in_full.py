"""What the attack with kills found: blanked, compacted, undone, and the next request was twice the window."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.raw_client import RawClient
from tests.e2e.test_cascade import SUMMARY, compactions, is_summary_request
from tests.simulator import RecordedRequest, Reply, Simulator, ToolCall

_WINDOW = 24_000
_FILE = "f.txt"


def test_what_an_undo_brings_back_in_full_is_not_sent_larger_than_the_window(tmp_path: Path) -> None:
    def answer(request: RecordedRequest) -> Reply:
        if is_summary_request(request):
            return Reply(SUMMARY)
        newest = request.body["messages"][-1]
        return (
            Reply("Read it.")
            if newest["role"] == "tool"
            else Reply(tool_calls=[ToolCall("read_file", {"path": _FILE})])
        )

    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / _FILE).write_text("value = 1\n" * 300)
    settings = {
        "model": "openai:gpt-5",
        "compactionContextWindowTokens": _WINDOW,
        "compactionKeepRecentTokens": 2_000,
        "permissionMode": "bypass",
        "memoryCompressionEnabled": False,
    }
    with (
        Simulator(window=_WINDOW, replies=answer) as simulator,
        RawClient(environ=simulator.environment, home=tmp_path / "home") as client,
    ):
        client.initialize(workspace, settings=settings)
        for number in range(12):
            client.request("agent/prompt", {"prompt": f"Read it again, {number}."})
        assert {event["tier"] for event in compactions(client)} == {"micro"}
        assert client.request("agent/compact", {})["outcome"] == "compacted"
        assert client.request("agent/undoCompaction", {})["undone"]
        assert client.request("agent/prompt", {"prompt": "And again."})["text"] == "Read it."
        assert not simulator.refused, simulator.refused[0].refusal
        assert client.shut_down() == 0
