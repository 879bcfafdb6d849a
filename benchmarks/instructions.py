"""How many bytecode instructions the hot paths take: what a regression guard can compare without a clock.

    python -m benchmarks.instructions [--write]

Counted with `sys.settrace`: the same on every machine for one minor version of Python and one set of packages. What C
code does inside one instruction does not count, so this tells of loops and calls, not of time.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from agent_ls.compaction.boundary import recent_tail
from agent_ls.compaction.estimate import Estimator
from agent_ls.compaction.gauge import GaugeFacts, context_gauge
from agent_ls.compaction.micro import microcompact
from agent_ls.compaction.occupancy import Levels
from agent_ls.history import History
from agent_ls.log.catalog import list_sessions
from agent_ls.log.replay import replay
from agent_ls.protocol import PromptParams, SessionId
from agent_ls.tokens import Tokens
from agent_ls.wire.converter import structure, unstructure
from agent_ls.wire.framing import Body, read_frames
from agent_ls.wire.messages import decoded
from agent_ls.wire.outbox import framed

STORED: Final = Path(__file__).parent / "instructions.json"
TOLERANCE: Final = 0.10
_MESSAGES: Final = 600
_LISTED: Final = 50


def count(run: Callable[[], object]) -> int:
    """The instructions of the second of two runs; the first fills caches."""
    run()
    counted = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal counted
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        counted += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return counted


def conversation() -> list[ModelMessage]:
    """A made-up session: every tenth message a prompt, between them calls and their results."""
    messages: list[ModelMessage] = []
    for number in range(_MESSAGES // 2):
        body = "".join(f"line {line} of file {number}: x = {line * 7}\n" for line in range(40))
        if number % 5 == 0:
            messages.append(ModelRequest(parts=[UserPromptPart(f"Look at file {number}, please.")]))
        else:
            messages.append(ModelRequest(parts=[ToolReturnPart("read_file", body, f"call-{number - 1}")]))
        usage = RequestUsage(input_tokens=1_000 + number * 300, output_tokens=40)
        call = ToolCallPart("read_file", {"path": f"file_{number}.py"}, f"call-{number}")
        ends = number % 5 == 4
        messages.append(ModelResponse(parts=[TextPart("I see.")] if ends else [call], usage=usage))
    return messages


def framed_prompt(params: Mapping[str, str]) -> bytes:
    """A prompt as it goes over the wire, in either direction."""
    return framed(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "agent/prompt", "params": params}))


def read_all(stream: bytes) -> list[Any]:
    """The messages of a stream of frames, decoded."""
    return [decoded(frame.data) for frame in read_frames(io.BytesIO(stream)) if isinstance(frame, Body)]


def fifty_sessions(folder: Path) -> None:
    """Logs of a prompt and its answer each, for the list."""
    for number in range(_LISTED):
        history = History.create(folder, directory=folder)
        history.append(ModelRequest(parts=[UserPromptPart(f"Question {number}")]))
        history.append(ModelResponse(parts=[TextPart("Yes.")]))
        history.close()


@contextmanager
def hot_paths() -> Iterator[Mapping[str, Callable[[], object]]]:
    """What is counted, by name, on a log in a temporary folder."""
    messages, estimator = conversation(), Estimator()
    estimator.messages(messages)
    tail = recent_tail(messages, 20_000, estimator)
    levels = Levels.of(200_000, micro_reserve=0.4, full_reserve=0.2)
    facts = GaugeFacts(
        session_id=SessionId("s"),
        workspace="file:///w",
        model="openai:gpt-5",
        cost=0.1,
        cache_share=0.9,
        last_compaction=None,
        state="running",
        warnings=[],
    )
    params = {"prompt": "What does this do?", "workspace": "file:///w", "whenBusy": "queue"}
    with tempfile.TemporaryDirectory() as folder:
        history = History.create(Path(folder), directory=Path(folder))
        for message in messages:
            history.append(message)
        listed = Path(folder) / "listed"
        fifty_sessions(listed)
        frames = framed_prompt(params) * 100
        yield {
            "microcompact": lambda: microcompact(messages, tail, estimator),
            "recent_tail": lambda: recent_tail(messages, 20_000, estimator),
            "estimate of a new history": lambda: Estimator().messages(messages),
            "estimate of a weighed history": lambda: estimator.messages(messages),
            "gauge, as sent": lambda: unstructure(context_gauge(Tokens.measured(90_000), levels, facts)),
            "params of a prompt": lambda: structure(params, PromptParams),
            "append a line": lambda: history.append(ModelResponse(parts=[TextPart("I see.")])),
            "replay": lambda: replay(history.path),
            "list 50 sessions": lambda: list_sessions(listed),
            "write a frame": lambda: framed_prompt(params),
            "read 100 frames": lambda: read_all(frames),
        }
        history.close()


def counts() -> dict[str, int]:
    """Every hot path's instructions."""
    with hot_paths() as paths:
        return {name: count(run) for name, run in paths.items()}


def python() -> str:
    """The version counts belong to."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def main() -> None:
    """Print the counts beside the stored ones; `--write` stores them for this Python."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true")
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    known, now = stored.get(python(), {}), counts()
    for name, counted in now.items():
        print(f"{name:32} {counted:>10,}   {counted / known[name]:.3f} of the stored" if name in known else name)
    if parser.parse_args().write:
        STORED.write_text(json.dumps(stored | {python(): now}, indent=2) + "\n")


if __name__ == "__main__":
    main()
