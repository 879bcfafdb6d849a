"""The whole server killed (SIGKILL) at random moments of turns, compactions, undo and memory, and started again.

A workspace lives through `PER_WORKSPACE` kills. After each: every log loads from both ends alike, no turn, compaction,
undo or remembered line that the client saw answered is lost, and what the next server sends is accepted by a simulator
that refuses what providers refuse.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from attrs import define, field

from agent_ls.log.catalog import list_sessions
from agent_ls.log.replay import originals, replay, replay_forwards
from tests.e2e.raw_client import Json, RawClient
from tests.e2e.test_cascade import SUMMARY, is_summary_request
from tests.e2e.test_e2e_memory import ASKS_FOR_A_SENTENCE
from tests.log.test_dangling import unpaired
from tests.simulator import Outcome, RecordedRequest, Reply, Simulator, ToolCall
from tests.trust.attack import Row, limited, run_shards
from tests.trust.forked_server import ForkedServer

PER_WORKSPACE: Final = 10
_WINDOW: Final = 24_000
"""Small enough that the server compacts by itself."""
_MOST_MESSAGES: Final = 200
_MOST_SECONDS: Final = 2.0
_FROM_NOTHING_IN: Final = 10
_FILES: Final = 6
_TOLD: Final = 40
_MODELS: Final = ("openai:gpt-5", "anthropic:claude-sonnet-4-5")
_PERSON: Final = "- Written by a person."


def attack_server(count: int, seed: str, *, workers: int) -> Row:
    """Kill servers `count` times."""
    return run_shards("kill -9 of the server", _shard, count, seed, workers=workers, per_shard=PER_WORKSPACE)


class Dead(Exception):
    """The server was killed while it was asked."""


class Doomed(RawClient):
    """A client whose server is killed after so many messages, or at a time.

    `from_nothing`: an interpreter of its own, which takes seconds to begin, instead of a fork of one that is ready.
    """

    def __init__(self, *, from_nothing: bool, **options: Any) -> None:
        self.from_nothing = from_nothing
        super().__init__(**options)

    messages_left = 10**9

    def started(self, command: Sequence[str], environ: Mapping[str, str]) -> Any:
        return super().started(command, environ) if self.from_nothing else ForkedServer(environ, Path.cwd())

    def kill_after_seconds(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self.process.kill)
        timer.daemon = True
        timer.start()

    def receive(self) -> Json:
        self.messages_left -= 1
        if self.messages_left < 0:
            self.process.kill()
        try:
            return super().receive()
        except EOFError as error:
            raise Dead from error

    def send_bytes(self, data: bytes) -> None:
        try:
            super().send_bytes(data)
        except OSError as error:
            raise Dead from error


@define
class Seen:
    """What the client saw answered in one session."""

    turns: list[tuple[str, str]] = field(factory=list)
    compactions: int = 0
    undone: int = 0


@define
class Workspace:
    """One folder and all that was answered in it."""

    folder: Path
    chance: random.Random
    model: str
    sessions: dict[str, Seen] = field(factory=dict)
    remembered: list[str] = field(factory=list)
    prompts: int = 0
    done: list[str] = field(factory=list)

    def open(self, simulator: Simulator) -> Doomed:
        self.done.append("open")
        from_nothing = not self.chance.randrange(_FROM_NOTHING_IN)
        client = Doomed(from_nothing=from_nothing, environ=simulator.environment, home=self.folder.parent / "home")
        settings = {
            "model": self.model,
            "compactionContextWindowTokens": _WINDOW,
            "compactionKeepRecentTokens": 2_000,
            "permissionMode": "bypass",
        }
        client.initialize(self.folder, settings=settings)
        return client

    def seen(self, session: str) -> Seen:
        return self.sessions.setdefault(session, Seen())

    # --- what is done to it -------------------------------------------------------------------------------------------

    def prompt(self, client: RawClient) -> None:
        self.prompts += 1
        prompt = f"prompt {self.prompts}."
        result = client.request("agent/prompt", {"prompt": prompt})
        assert result["stopReason"] == "end_turn", result
        self.seen(result["sessionId"]).turns.append((prompt, result["text"]))

    def compact(self, client: RawClient) -> None:
        result = client.request("agent/compact", {})
        if result["outcome"] == "compacted":
            self.seen(result["sessionId"]).compactions += 1

    def undo(self, client: RawClient) -> None:
        result = client.request("agent/undoCompaction", {})
        if result["undone"]:
            self.seen(result["sessionId"]).undone += 1

    def remember(self, client: RawClient) -> None:
        self.prompts += 1
        line = f"Remember number {self.prompts}."
        client.request("agent/prompt", {"prompt": f"/remember {line}"})
        self.remembered.append(f"- {line}")

    def new(self, client: RawClient) -> None:
        client.request("agent/newSession", {})

    def shut_down(self, client: RawClient) -> None:
        client.request("shutdown")
        raise Dead  # nothing more can be asked of it

    def live(self, client: RawClient) -> None:
        """One thing after another until the server is dead."""
        kinds = [self.prompt] * 6 + [self.compact] * 3 + [self.undo] * 2 + [self.remember] * 2 + [self.new]
        while True:
            kind = self.chance.choice(kinds)
            self.done.append(kind.__name__)
            kind(client)
            if not self.chance.randrange(15):
                self.shut_down(client)

    # --- what must be left of it --------------------------------------------------------------------------------------

    def check_disk(self) -> None:
        directory = self.folder / ".agent_ls"
        logs = list((directory / "sessions").glob("*.jsonl"))
        assert len(list_sessions(directory / "sessions")) == len(logs)
        found = {}
        for path in logs:
            told = replay(path)
            assert told == replay_forwards(path)
            assert unpaired([each.message for each in told.live]) == []
            found[path.stem.rpartition("_")[2]] = path
        for session, seen in self.sessions.items():
            assert session in found, f"the log of {session} is gone"
            _check_log(found[session], seen)
        self._check_memory(directory / "MEMORY.md")

    def _check_memory(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        times = Counter(lines)
        assert [times[line] for line in (_PERSON, *self.remembered)] == [1] * (len(self.remembered) + 1), lines
        assert max(times.values()) == 1, lines

    def check_resumed(self, client: RawClient) -> None:
        if not list_sessions(self.folder / ".agent_ls" / "sessions"):
            return
        opened = client.request("agent/resumeSession", {"sessionId": "latest"})
        said = "\0".join(
            update["content"]["text"]
            for update in opened["history"]
            if isinstance(update.get("content"), dict) and "text" in update["content"]
        )
        for prompt, answer in self.seen(opened["sessionId"]).turns:
            assert prompt in said
            assert answer in said


def _check_log(path: Path, seen: Seen) -> None:
    texts = [_text(each.message) for each in originals(path)]
    told = "\0".join(texts)
    at = 0
    for prompt, answer in seen.turns:
        # Each behind the one before: nothing lost, nothing out of order. A prompt is in the log exactly once.
        assert texts.count(prompt) == 1, prompt
        at = told.index(prompt, at)
        at = told.index(answer, at)
    kinds = Counter(json.loads(line)["type"] for line in path.read_bytes().split(b"\n")[:-1] if line)
    assert kinds["compaction"] >= seen.compactions
    assert kinds["undo_compaction"] >= seen.undone


def _text(message: Any) -> str:
    return "".join(part.content for part in message.parts if isinstance(getattr(part, "content", None), str))


class Script:
    """Two rounds of tools for most prompts, then an answer that repeats the prompt's number; at an uneven pace."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def __call__(self, request: RecordedRequest) -> Outcome:
        pace = self.chance.choice((0.0, 0.0, 0.001, 0.004))
        if ASKS_FOR_A_SENTENCE in request.text:
            return Reply(f"Session of request {request.index} looked at numbered files.", seconds_between_events=pace)
        if is_summary_request(request):
            return Reply(SUMMARY, seconds_between_events=pace)
        number = re.findall(r"prompt (\d+)\.", request.text)[-1]
        rounds = self._rounds(request)
        if rounds < int(number) % 3:
            name = f"f{self.chance.randrange(_FILES)}.txt"
            calls = [ToolCall("read_file", {"path": name}), ToolCall("list_directory", {"path": "."})]
            return Reply(tool_calls=calls[: self.chance.choice((1, 2))], seconds_between_events=pace)
        return Reply(f"answer to {number}: " + "words " * 60 + "end.", seconds_between_events=pace)

    @staticmethod
    def _rounds(request: RecordedRequest) -> int:
        """How many rounds of tools stand behind the newest prompt."""
        rounds = 0
        for message in reversed(request.body["messages"]):
            if message["role"] == "assistant":
                rounds += 1
            elif message["role"] == "user" and "tool_result" not in json.dumps(message):
                break
        return rounds


def _shard(count: int, seed: str) -> Mapping[str, int]:
    chance = random.Random(seed)
    totals: Counter[str] = Counter()
    with TemporaryDirectory() as name, Simulator(window=_WINDOW, replies=Script(chance)) as simulator:
        folder = Path(name).resolve() / "w"
        (folder / ".agent_ls").mkdir(parents=True)
        (folder / ".agent_ls" / "MEMORY.md").write_text(f"{_PERSON}\n")
        for number in range(_FILES):
            (folder / f"f{number}.txt").write_text(f"value_{number} = {number}\n" * 300)
        workspace = Workspace(folder, chance, chance.choice(_MODELS))
        try:
            with limited() as attempt:
                for _ in range(count):
                    attempt()
                    _one_life(workspace, simulator)
                attempt()
                _last_life(workspace, simulator)
        except BaseException as error:
            error.add_note(f"server of seed {seed}, workspace of {len(workspace.sessions)} sessions")
            error.add_note(f"the last things done: {', '.join(workspace.done[-_TOLD:])}")
            raise
        totals["requests"] = len(simulator.requests)
        totals["refused"] = len(_refused(simulator))
    totals["turns answered"] = sum(len(seen.turns) for seen in workspace.sessions.values())
    totals["compactions"] = sum(seen.compactions for seen in workspace.sessions.values())
    totals["undone"] = sum(seen.undone for seen in workspace.sessions.values())
    totals["lines remembered"] = len(workspace.remembered)
    totals["sessions"] = len(workspace.sessions)
    return totals


def _one_life(workspace: Workspace, simulator: Simulator) -> None:
    with workspace.open(simulator) as client:
        workspace.check_resumed(client)
        if workspace.chance.randrange(2):
            client.messages_left = workspace.chance.randrange(_MOST_MESSAGES)
        else:
            client.kill_after_seconds(workspace.chance.uniform(0, _MOST_SECONDS))
        try:
            workspace.live(client)
        except Dead:
            time.sleep(workspace.chance.choice((0, 0, 0.005)))  # a moment, for one killed behind its last message
    stderr = client.stderr.decode("utf-8", "replace")
    assert "Traceback" not in stderr, stderr[-3000:]
    _check_accepted(simulator)
    workspace.check_disk()


def _last_life(workspace: Workspace, simulator: Simulator) -> None:
    """Every session goes on: resumed, asked once more, shut down in peace."""
    with workspace.open(simulator) as client:
        for session in workspace.sessions:
            client.request("agent/resumeSession", {"sessionId": session})
            workspace.prompt(client)
        assert client.shut_down() == 0
    _check_accepted(simulator)
    workspace.check_disk()


def _check_accepted(simulator: Simulator) -> None:
    for request in _refused(simulator):
        kind = "a summary" if is_summary_request(request) else "a turn"
        raise AssertionError(f"request {request.index} of {len(simulator.requests)}, {kind}'s: {request.refusal}")


def _refused(simulator: Simulator) -> list[RecordedRequest]:
    """The requests that were refused, but for those that a kill cut off."""
    return [request for request in simulator.refused if request.body is not None]
