"""Load: many workspaces with a turn each at once, huge prompts, a client that stops reading; other requests meanwhile.

Order and completeness are asserted. Times and memory are measured and shown, never asserted: they are the machine's.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.e2e.raw_client import Json, RawClient
from tests.trust.attack import Row, rss_bytes

_SCRIPT: Final = Path(__file__).with_name("load_script.py")
_ENORMOUS_WINDOW: Final = 100_000_000
_PROBE_SECONDS: Final = 0.05
_POLL_SECONDS: Final = 0.1
_HUGE_PROMPTS: Final = 2
_MOST_RSS_BYTES: Final = 2 << 30
"""Of the server, whatever is asked of it here: ten times what it needs, so that only growth without end fails."""


class PausingClient(RawClient):
    """A client that can stop reading."""

    def __init__(self, **options: Any) -> None:
        self.reads = threading.Event()
        self.reads.set()
        super().__init__(**options)

    def received(self) -> Iterator[Json]:
        for message in super().received():
            yield message
            self.reads.wait()


class Load:
    """One server with so many workspaces; the last one stays idle and answers other requests."""

    def __init__(self, folder: Path, workspaces: int, environ: Mapping[str, str]) -> None:
        self.folders = [folder / f"w{number}" for number in range(workspaces + 1)]
        for each in self.folders:
            each.mkdir()
        self.client = PausingClient(environ=environ, home=folder / "home")
        self.client.initialize(
            None,
            settings={
                "model": "openai:gpt-5",
                "compactionContextWindowTokens": _ENORMOUS_WINDOW,
                "memoryCompressionEnabled": False,
            },
        )
        self.most_rss_bytes = 0
        self.waited: list[float] = []
        """Seconds that each of the other requests took."""
        for each in self.folders:
            self.client.request("agent/context", {"workspace": each.as_uri()})

    def turns_at_once(self, prompt: str, folders: list[Path]) -> list[Json]:
        """One turn in each folder, all at the same time, with other requests in between; their results."""
        pending = {self._prompt(each, prompt) for each in folders}
        results: list[Json] = []
        probe, sent = self._probe(), time.monotonic()
        while pending:
            message = self.client.receive()
            self.most_rss_bytes = max(self.most_rss_bytes, rss_bytes(self.client.process.pid))
            if "method" in message:
                continue
            if message["id"] == probe:
                self.waited.append(time.monotonic() - sent)
                time.sleep(_PROBE_SECONDS)
                probe, sent = self._probe(), time.monotonic()
            else:
                pending.remove(message["id"])
                results.append(message["result"])
        self.client.response(probe)
        return results

    def turns_that_nobody_reads(self, prompt: str, folders: list[Path]) -> list[Json]:
        """The same while the client does not read until all turns are over."""
        turns = [_turns_in(each) for each in folders]
        self.client.reads.clear()
        pending = {self._prompt(each, prompt) for each in folders}
        while [_turns_in(each) for each in folders] != [count + 1 for count in turns]:
            self.most_rss_bytes = max(self.most_rss_bytes, rss_bytes(self.client.process.pid))
            time.sleep(_POLL_SECONDS)
        self.client.reads.set()
        results: list[Json] = []
        while len(results) < len(pending):
            message = self.client.wait_for(lambda message: "method" not in message)
            assert message["id"] in pending
            results.append(message["result"])
        return results

    def check_updates(self, texts: Mapping[str, str]) -> int:
        """Each session's updates count up by one and say its turn's whole text, in order. Returns their number."""
        updates = self.client.notifications("agent/update")
        said = dict.fromkeys(texts, "")
        last: dict[str, int] = {}
        for each in updates:
            session = each["sessionId"]
            assert each["seq"] == last.get(session, 0) + 1, session
            last[session] = each["seq"]
            if session in said and each["update"]["sessionUpdate"] == "agent_message_chunk":
                said[session] += each["update"]["content"]["text"]
        assert said == texts
        return len(updates)

    def _prompt(self, folder: Path, prompt: str) -> int:
        return self.client.start_request("agent/prompt", {"prompt": prompt, "workspace": folder.as_uri()})

    def _probe(self) -> int:
        return self.client.start_request("agent/context", {"workspace": self.folders[-1].as_uri()})


def attack_with_load(*, workspaces: int, updates: int, prompt_bytes: int) -> list[Row]:
    """All three kinds of load; `updates` over all workspaces together."""
    with TemporaryDirectory() as name, _simulator() as environ:
        load = Load(Path(name).resolve(), workspaces, environ)
        with load.client:
            busy, each = load.folders[:-1], updates // workspaces
            whole = "".join(f"{number} " for number in range(each))
            rows = [
                _row(f"{workspaces} turns at once", updates, load, lambda: load.turns_at_once(f"chunks={each}", busy)),
                _row(
                    "a client that stops reading",
                    updates,
                    load,
                    lambda: load.turns_that_nobody_reads(f"chunks={each}", busy),
                ),
            ]
            results = [response["result"] for response in load.client.messages if _is_answer(response)]
            assert [result["text"] for result in results] == [whole] * (2 * workspaces)
            load.check_updates({result["sessionId"]: 2 * whole for result in results})
            huge = "word " * (prompt_bytes // 5)
            rows.append(
                _row(
                    f"{_HUGE_PROMPTS} prompts of {prompt_bytes:,} bytes at once",
                    _HUGE_PROMPTS,
                    load,
                    lambda: load.turns_at_once(huge, busy[:_HUGE_PROMPTS]),
                )
            )
            assert load.client.shut_down() == 0
    return rows


def _is_answer(message: Json) -> bool:
    return "method" not in message and isinstance(message.get("result"), dict) and "stopReason" in message["result"]


def _row(attack: str, count: int, load: Load, turns: Any) -> Row:
    load.waited.clear()
    load.most_rss_bytes = 0
    before = len(load.client.messages)
    begin = time.monotonic()
    results = turns()
    seconds = time.monotonic() - begin
    assert all(result["stopReason"] == "end_turn" for result in results)
    assert load.most_rss_bytes < _MOST_RSS_BYTES
    counted = {"messages": len(load.client.messages) - before, "other requests": len(load.waited)}
    if load.waited:
        counted["ms median for them"] = round(statistics.median(load.waited) * 1000)
    return Row(attack, count, "none", seconds, counted, load.most_rss_bytes)


def _turns_in(folder: Path) -> int:
    logs = (folder / ".agent_ls" / "sessions").glob("*.jsonl")
    return sum(line.startswith(b'{"type":"turn"') for log in logs for line in log.read_bytes().split(b"\n"))


@contextlib.contextmanager
def _simulator() -> Iterator[Mapping[str, str]]:
    """A simulator in a process of its own, so that it takes no time from the client; its environment."""
    command = [sys.executable, "-m", "tests.simulator", "--script", str(_SCRIPT), "--window", str(_ENORMOUS_WINDOW)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait() == 0, "the simulator refused a request"
