"""The demo's model: recorded tool calls, then text and summaries from the local model, over Chat Completions.

Nothing is pretended to the server: it speaks to this loopback endpoint as to any OpenAI-compatible provider, and the
token counts are those of the local model's own tokenizer.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from agent_ls import local_model
from agent_ls.demo.script import STEPS, Call, Step

_SUMMARY_TOKENS: Final = 220
_TEXT_TOKENS: Final = 48
_MODEL: Final = "demo"


class LocalTokens:
    """The local model's tokenizer and its text; canned text where it is not installed."""

    def __init__(self) -> None:
        self._base = local_model.SERVER.ensure_running().removesuffix("/v1") if local_model.is_installed() else None
        self._known: dict[str, int] = {}

    @property
    def installed(self) -> bool:
        """Whether text comes from the model."""
        return self._base is not None

    def count(self, text: str) -> int:
        """Tokens of a text."""
        if text not in self._known:
            self._known[text] = (
                len(self._post("/tokenize", {"content": text})["tokens"]) if self._base else len(text) // 3
            )
        return self._known[text]

    def write(self, prompt: str, max_tokens: int) -> str:
        """What the model answers."""
        if self._base is None:
            return prompt.partition("say that ")[2] or "## Goal\nKeep the shop right."
        body = {
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": 1,
            "repeat_penalty": 1.15,
        }
        text: str = self._post("/v1/chat/completions", body)["choices"][0]["message"]["content"]
        return text.strip()

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {local_model.SERVER.api_key}"}
        request = urllib.request.Request(f"{self._base}{path}", json.dumps(body).encode(), headers)
        # No proxy of the environment may see what goes to the loopback.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=300) as response:
            return json.load(response)


class DemoProvider:
    """The endpoint; use as a context manager."""

    def __init__(self, tokens: LocalTokens) -> None:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
                self.send_header("Connection", "close")
                self.end_headers()
                for piece in provider.answer(body):
                    self.wfile.write(piece)
                    self.wfile.flush()
                self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
                return

        self._tokens = tokens
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

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
        """What the server's process needs to reach it."""
        return {"OPENAI_BASE_URL": f"http://127.0.0.1:{self._server.server_port}/v1", "OPENAI_API_KEY": "demo"}

    def answer(self, body: Mapping[str, Any]) -> Iterator[bytes]:
        """The response to one request: server-sent events, or one object where the request asks for no stream."""
        messages = body["messages"]
        call, text = self._reply(messages)
        prompt_tokens = sum(self._tokens.count(json.dumps(item)) for item in [*messages, *body.get("tools", [])])
        completion_tokens = self._tokens.count(text or json.dumps(call.arguments if call else {}))
        usage = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        }
        if not body.get("stream"):
            yield json.dumps(_whole(call, text, usage)).encode()
            return
        finish = "tool_calls" if call else "stop"
        for delta in _deltas(call, text):
            yield _event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            time.sleep(0.02 if call is None else 0)
        yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        yield _event({"choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    def _reply(self, messages: Sequence[Mapping[str, Any]]) -> tuple[Call | None, str]:
        last = _text(messages[-1])
        if "<conversation>" in last:
            return None, self._tokens.write(_shorter(last), _SUMMARY_TOKENS)
        step, at = _step_of(messages)
        done = sum(message["role"] == "tool" for message in messages[at:])
        if done < len(step.calls):
            return step.calls[done], ""
        return None, self._tokens.write(f"In one short sentence, say that {step.say}", _TEXT_TOKENS)


def _step_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Step, int]:
    for index in range(len(messages) - 1, -1, -1):
        if messages[index]["role"] == "user":
            text = _text(messages[index])
            for step in STEPS:
                if step.prompt.strip() in text:
                    return step, index
    return STEPS[-1], len(messages)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _shorter(request: str) -> str:
    """What a model of this size can make something of: the newest part of the conversation."""
    inside = request.partition("<conversation>")[2].partition("</conversation>")[0]
    return f"Summarise what was done in this coding session in a few short lines:\n\n{inside[-2_500:]}"


def _deltas(call: Call | None, text: str) -> Iterator[Mapping[str, Any]]:
    if call is not None:
        yield {"role": "assistant", "tool_calls": [{"index": 0, **_wire(call)}]}
        return
    words = text.split(" ")
    for index, word in enumerate(words):
        yield {"role": "assistant", "content": word if index == len(words) - 1 else f"{word} "}


def _whole(call: Call | None, text: str, usage: Mapping[str, int]) -> Mapping[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if call is not None:
        message["tool_calls"] = [_wire(call)]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}
    return {
        "id": "demo",
        "object": "chat.completion",
        "created": 0,
        "model": _MODEL,
        "choices": [choice],
        "usage": usage,
    }


def _wire(call: Call) -> Mapping[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    return {"id": f"call_{time.time_ns()}", "type": "function", "function": function}


def _event(data: Mapping[str, Any]) -> bytes:
    frame = {"id": "demo", "object": "chat.completion.chunk", "created": 0, "model": _MODEL, **data}
    return b"data: " + json.dumps(frame).encode() + b"\n\n"
