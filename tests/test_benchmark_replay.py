"""What the replay of recorded sessions stands on: calls become ours, replies end with the window, losses are seen."""

from __future__ import annotations

from pathlib import Path

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from benchmarks.replay.performance import Performance
from benchmarks.replay.recalling import Recalling
from benchmarks.replay.recording import NEVER_ENDS, playable
from tests.simulator import RecordedRequest, Reply, ToolCall
from tests.simulator.replay import RecordedSession

PNG = BinaryContent(b"\x89PNG\r\n\x1a\n", media_type="image/png")


def request(*contents: str, tokens: int = 100) -> RecordedRequest:
    messages = [{"role": "user", "content": content} for content in contents]
    body = {"model": "m", "messages": messages, "tools": [{"function": {"name": "recall"}}]}
    return RecordedRequest(0, "openai", {}, body, tokens, None)


def recorded(*messages: ModelMessage) -> RecordedSession:
    return RecordedSession.of(messages)


def call(name: str, identifier: str, **arguments: str) -> ModelResponse:
    return ModelResponse([ToolCallPart(name, arguments, identifier)])


def test_each_call_brings_its_recorded_result_back_through_a_tool_of_ours(tmp_path: Path) -> None:
    session = recorded(
        ModelRequest([UserPromptPart("Look.")]),
        call("Read", "1", file_path="/a.py"),
        ModelRequest([ToolReturnPart("Read", "x = 1\r\n", "1")]),
        call("Bash", "2", command="make\ntest"),
        ModelRequest([ToolReturnPart("Bash", "no rule", "2", outcome="failed")]),
        call("View", "3"),
        ModelRequest([ToolReturnPart("View", ["a picture", PNG], "3")]),
        ModelResponse([TextPart("Done.")]),
    )
    [turn] = playable(session, tmp_path)
    read, ran, viewed = (reply.tool_calls[0] for reply in turn.replies[:3])
    assert (read.name, read.arguments) == ("read_file", {"path": "recorded/0001.txt"})
    assert (tmp_path / "recorded" / "0001.txt").read_bytes() == b"x = 1\r\n"
    assert isinstance(ran.arguments, dict)
    assert ran.arguments["command"] == 'cat recorded/0002.txt; exit 1 # Bash {"command": "make\\ntest"}'
    assert viewed.arguments == {"path": "recorded/0003.png"}
    assert not turn.interrupted


def test_a_round_without_its_results_was_interrupted_by_a_person(tmp_path: Path) -> None:
    session = recorded(ModelRequest([UserPromptPart("Go.")]), call("Bash", "1", command="make"))
    [turn] = playable(session, tmp_path)
    assert turn.interrupted
    [reply] = turn.replies
    assert str(reply.tool_calls[0].arguments).count(NEVER_ENDS) == 1


def test_a_reply_ends_where_the_window_does_within_the_arguments_of_its_last_call() -> None:
    performance = Performance(1_000)
    calls = [ToolCall("write_file", {"content": "word " * 100}), ToolCall("write_file", {"content": "word " * 900})]
    performance.begin([Reply("I write.", tool_calls=[*calls, calls[0]]), Reply("Done.")])
    cut = performance(request("go", tokens=500))
    assert cut.stop_reason == "length"
    first, second = cut.tool_calls
    assert str(first.arguments).endswith('word "}')
    assert str(second.arguments).rstrip().endswith("word")
    assert (performance.cut, performance.left) == (1, 1)
    assert performance(request("go")) == Reply("Done.")


def test_a_text_that_recall_does_not_give_back_is_lost() -> None:
    looking = Recalling(["here it stands", "it comes back", "it is gone"])
    conversation = looking.conversation()
    next(conversation)
    asked = conversation.send(request("here it stands"))
    assert asked.tool_calls[0].arguments == {"query": "it comes back"}
    found = conversation.send(
        request("message-3.0 (user, 13 characters): …it…\nmessage-4.0 (assistant, 9 characters): …")
    )
    assert found.tool_calls[0].arguments == {"id": "message-3.0", "offset": 0}
    page = "[message-3.0: characters 0 to 6 of 13; go on with recall(id='message-3.0', offset=6)]\nit com"
    assert conversation.send(request(page)).tool_calls[0].arguments == {"id": "message-3.0", "offset": 6}
    conversation.send(request("[message-3.0: characters 6 to 13 of 13]\nes back"))
    assert conversation.send(request("Nothing said in this session has all of these words.")).tool_calls == ()
    assert (looking.verbatim, looking.recalled, looking.lost) == (["here it stands"], ["it comes back"], ["it is gone"])
