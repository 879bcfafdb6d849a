"""The demo's model: recorded tool calls, then text and summaries from the local model, over Chat Completions.

Nothing is pretended to the server: it speaks to this loopback endpoint as to any OpenAI-compatible provider, and the
token counts are those of the local model's own tokenizer.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from attrs import frozen

from agent_ls.compaction.transcript import CLOSE, OPEN
from agent_ls.demo.local_text import LocalText
from agent_ls.demo.script import STEPS, Call, Step

_logger = logging.getLogger(__name__)

_MODEL: Final = "demo"
_SECONDS_PER_WORD: Final = 0.03
"""As a hosted model streams; the local one answers as a whole here, so that its text can be counted first."""

Json = Mapping[str, Any]


@frozen
class _Answer:
    """What one request gets: calls with their arguments as JSON text, or words."""

    calls: Sequence[tuple[str, str]]
    text: str

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.calls else "stop"


class DemoProvider:
    """The endpoint; use as a context manager."""

    def __init__(self, local: LocalText) -> None:
        self._local = local
        self._numbers = iter(range(1, 1_000_000))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.last_request = ""
        """The messages of the newest request, as JSON text."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def environment(self) -> Mapping[str, str]:
        """What the server's process needs to reach it, and nothing else."""
        return {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self._server.server_port}/v1",
            "OPENAI_API_KEY": "demo",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def answer(self, body: Json) -> Iterator[bytes]:
        """The response to one request: server-sent events, or one object where the request asks for no stream.

        All that can fail has been done when it returns.
        """
        messages = body["messages"]
        answer = self._answer(messages)
        asked = sum(self._local.count(json.dumps(item)) for item in [*messages, *body.get("tools", [])])
        said = self._local.count(answer.text + "".join(arguments for _, arguments in answer.calls))
        usage = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
        calls = [self._on_the_wire(name, arguments) for name, arguments in answer.calls]
        if not body.get("stream"):
            return iter([_whole(answer, calls, usage)])
        return _streamed(answer, calls, usage)

    def _answer(self, messages: Sequence[Json]) -> _Answer:
        last = _text(messages[-1])
        if OPEN in last:
            return _Answer((), self._local.summary(last.partition(OPEN)[2].partition(CLOSE)[0]))
        self.last_request = json.dumps(messages, ensure_ascii=False)
        step, at = _step_of(messages)
        results = [_text(message) for message in messages[at:] if message["role"] == "tool"]
        if (due := _round_after(step, len(results))) is not None:
            result = results[-1] if results else ""
            return _Answer([(call.tool, json.dumps(call.arguments_after(result))) for call in due], "")
        return _Answer((), self._local.sentence(step.say))

    def _on_the_wire(self, name: str, arguments: str) -> Json:
        return {
            "id": f"call_{next(self._numbers)}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }


def _step_of(messages: Sequence[Json]) -> tuple[Step, int]:
    """The step whose prompt is the newest in the conversation, and the index of the message that holds it.

    Where a compaction moved the prompt of the running turn, it stands after the summary, in the same message.
    """
    for index in range(len(messages) - 1, -1, -1):
        text = _text(messages[index]) if messages[index]["role"] == "user" else ""
        if held := [step for step in STEPS if step.prompt in text]:
            return max(held, key=lambda step: text.rfind(step.prompt)), index
    raise ValueError("no prompt of the demo is in this conversation")


def _round_after(step: Step, results: int) -> Sequence[Call] | None:
    """The round that is due when there are so many results; None when all are done."""
    for calls in step.rounds:
        if results <= 0:
            return calls
        results -= len(calls)
    return None


def _text(message: Json) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _streamed(answer: _Answer, calls: Sequence[Json], usage: Json) -> Iterator[bytes]:
    for index, call in enumerate(calls):
        yield _event({"role": "assistant", "tool_calls": [{"index": index, **call}]})
    for word in answer.text.replace(" ", " \0").split("\0"):
        if word:
            yield _event({"role": "assistant", "content": word})
            time.sleep(_SECONDS_PER_WORD)
    yield _event({}, answer.finish_reason)
    yield _frame({"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _event(delta: Json, finish_reason: str | None = None) -> bytes:
    return _frame({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def _frame(data: Json) -> bytes:
    frame = {"id": "demo", "object": "chat.completion.chunk", "created": 0, "model": _MODEL, **data}
    return b"data: " + json.dumps(frame).encode() + b"\n\n"


def _whole(answer: _Answer, calls: Sequence[Json], usage: Json) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    whole = {"id": "demo", "object": "chat.completion", "created": 0, "model": _MODEL}
    return json.dumps({**whole, "choices": [choice], "usage": usage}).encode()


def _handler(provider: DemoProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, pieces = 200, provider.answer(body)
            except Exception as error:
                # Whatever it is, the client gets a response that says so, as from any provider.
                _logger.exception("the demo's provider failed")
                status, pieces = 400, iter([json.dumps({"error": {"message": str(error)}}).encode()])
            streams = body.get("stream") and status == 200
            self.send_response(status)
            self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                for piece in pieces:
                    self.wfile.write(piece)
            except ConnectionError:
                _logger.info("the server left in the middle of an answer")
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
            return

    return Handler
