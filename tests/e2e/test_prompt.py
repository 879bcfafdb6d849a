"""A prompt from an editor, answered with real tools over HTTP, through the real server process."""

from pathlib import Path

from tests.e2e.conftest import StartServer, allow
from tests.e2e.raw_client import Json
from tests.simulator import Reply, Simulator, ToolCall


def test_a_prompt_reads_a_file_and_the_gauge_is_what_the_provider_counted(
    start_server: StartServer, workspace: Path
) -> None:
    (workspace / "a.py").write_text("answer = 42\n")
    with Simulator(
        replies=[Reply(tool_calls=[ToolCall("read_file", {"path": "a.py"})]), Reply("It is 42.")]
    ) as simulator:
        client = start_server(simulator)
        result = client.request("agent/prompt", {"prompt": "What is the answer in a.py?"})
        assert result["stopReason"] == "end_turn"
        assert result["text"] == "It is 42."
        assert not simulator.refused
        assert "answer = 42" in str(simulator.requests[-1].body)
        last = simulator.exchanges[-1].usage
        assert last is not None
        assert result["gauge"]["used"] == {"count": last.input, "basis": "measured"}
        updates = [params["update"] for params in client.notifications("agent/update")]
        kinds = [update["sessionUpdate"] for update in updates]
        assert kinds[:3] == ["user_message_chunk", "tool_call", "tool_call_update"]
        assert (
            "".join(u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_message_chunk") == "It is 42."
        )
        sequence = [params["seq"] for params in client.notifications("agent/update")]
        assert sequence == list(range(1, len(sequence) + 1))
        assert client.shut_down() == 0


def test_writing_asks_with_a_diff_and_the_edit_lands_on_disk(start_server: StartServer, workspace: Path) -> None:
    (workspace / "a.py").write_bytes(b"\xef\xbb\xbfx = 1\r\ny = 2\r\n")
    edit = ToolCall("edit_file", {"path": "a.py", "old_text": "x = 1\ny", "new_text": "x = 10\ny"})
    read = ToolCall("read_file", {"path": "a.py"})
    questions = []

    def answer(params: Json) -> Json:
        questions.append(params)
        return allow()(params)

    with Simulator(replies=[Reply(tool_calls=[read]), Reply(tool_calls=[edit]), Reply("Done.")]) as simulator:
        client = start_server(simulator, agent={"permission": True}, answers={"agent/requestPermission": answer})
        result = client.request("agent/prompt", {"prompt": "Make x ten."})
        assert result["text"] == "Done."
        (question,) = questions
        (diff,) = [item for item in question["toolCall"]["content"] if item["type"] == "diff"]
        assert "x = 10" in diff["newText"]
        assert (workspace / "a.py").read_bytes() == b"\xef\xbb\xbfx = 10\r\ny = 2\r\n"
        assert not simulator.refused


def test_half_a_surrogate_pair_in_a_prompt_bricks_no_session(start_server: StartServer) -> None:
    """An editor may cut a pair in two; no request can carry the half, and the history keeps it (FAULTS 32)."""
    with Simulator(otherwise=Reply("Yes.")) as simulator:
        client = start_server(simulator)
        for prompt in ("cut \ud83d off", [{"type": "text", "text": "cut \ude00 off"}], "whole"):
            assert client.request("agent/prompt", {"prompt": prompt})["text"] == "Yes."
        opened = client.request("agent/resumeSession", {"sessionId": "latest"})
        assert opened["history"][0]["content"]["text"] == "cut \ud83d off"
        assert [message["content"] for message in simulator.requests[-1].messages if message["role"] == "user"] == [
            "cut \ufffd off",
            "cut \ufffd off",
            "whole",
        ]
