"""After any sequence of write-backs, failing models, kills and concurrent servers the memory is whole."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import tempfile
from pathlib import Path

from attrs import define, field, frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agent_ls.memory.clip import Caps
from agent_ls.memory.compress import compress_memory_file
from agent_ls.memory.disk import Disk
from agent_ls.memory.memory_file import Bullet
from agent_ls.memory.store import MemoryStore
from agent_ls.protocol import SessionId
from tests.memory.conftest import model_that

CAPS = Caps(8, 500)
PERSON_LINES = ["# Rules", "- use tabs", "", "Run `make`."]


class Killed(BaseException):
    """The process ends here."""


@define
class Death:
    """When the process ends: before or, `late`, after so many more operations; None is never."""

    operations_left: int | None = None
    late: bool = False

    def comes_now(self) -> bool:
        if self.operations_left is None:
            return False
        self.operations_left -= 1
        return self.operations_left < 0


@frozen
class MortalDisk(Disk):
    """Writes like the real disk, without its syncs, and ends the process at the operation it is told to.

    Killed in an append, half of it is there; killed in a replace, nothing of it or all of it.
    """

    death: Death = field(factory=Death)

    def replace(self, path: Path, data: bytes) -> None:
        killed = self.death.comes_now()
        if not killed or self.death.late:
            temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
            temporary.write_bytes(data)
            temporary.replace(path)
        if killed:
            raise Killed

    def append(self, path: Path, data: bytes) -> None:
        killed = self.death.comes_now()
        with path.open("ab") as file:
            torn = path.stat().st_size and path.read_bytes()[-1:] != b"\n"
            data = b"\n" + data if torn else data
            file.write(data[: len(data) // 2] if killed and not self.death.late else data)
        if killed:
            raise Killed


class MemoryOutlivesEverything(RuleBasedStateMachine):
    """`expected`: every line that was ever promised to stay. `unfinished`: sessions whose server was killed."""

    @initialize()
    def start(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="agent-ls-memory-"))
        self.disk = MortalDisk()
        self.store = MemoryStore(self.root / ".agent_ls", CAPS, self.disk)
        self.count = 0
        self.expected: set[str] = set()
        self.unfinished: dict[SessionId, str] = {}
        self.by_person: list[str] = []

    def teardown(self) -> None:
        if not hasattr(self, "root"):
            return
        for session_id in list(self.unfinished):
            self.start_again(session_id)
        self.the_memory_is_whole()
        shutil.rmtree(self.root)

    def new_line(self, day: int) -> tuple[SessionId, str]:
        self.count += 1
        return SessionId(f"s{self.count}"), f"- 2026-12-{day:02}: Session {self.count} changed part{self.count}.py."

    def remember(self, session_id: SessionId, line: str) -> None:
        remembered = self.store.remember_session(session_id, 1, line)
        assert remembered.written
        # After a kill, the sentence of the first try may be the one that stands.
        assert remembered.line is not None
        self.expected.add(remembered.line)
        self.unfinished.pop(session_id, None)

    @rule(day=st.integers(1, 28))
    def a_session_ends(self, day: int) -> None:
        self.remember(*self.new_line(day))

    @rule(day=st.integers(1, 28), operations=st.integers(0, 5), late=st.booleans())
    def a_session_ends_and_its_server_is_killed(self, day: int, operations: int, late: bool) -> None:
        session_id, line = self.new_line(day)
        self.unfinished[session_id] = line
        self.disk.death.operations_left, self.disk.death.late = operations, late
        with contextlib.suppress(Killed):
            self.remember(session_id, line)
        self.disk.death.operations_left = None

    @precondition(lambda self: self.unfinished)
    @rule(data=st.data())
    def the_next_start(self, data: st.DataObject) -> None:
        self.start_again(data.draw(st.sampled_from(sorted(self.unfinished))))

    def start_again(self, session_id: SessionId) -> None:
        # The model is asked again and words it differently, which must not make two sentences of one session.
        first = self.unfinished[session_id]
        self.remember(session_id, f"{first} Reworded.")
        seen = {*self.store.read().lines, *self.archive()}
        assert len(seen & {first, f"{first} Reworded."}) == 1

    @precondition(lambda self: len(self.by_person) < len(PERSON_LINES))
    @rule()
    def a_person_writes_a_line(self) -> None:
        line = PERSON_LINES[len(self.by_person)]
        self.by_person.append(line)
        self.store.directory.mkdir(exist_ok=True)
        with self.store.path.open("a") as file:
            file.write(f"{line}\n")
        self.store.clamp()

    @rule(kept=st.integers(0, 9), failing=st.booleans(), day=st.integers(1, 28), meanwhile=st.booleans())
    def the_memory_is_compressed(self, kept: int, failing: bool, day: int, meanwhile: bool) -> None:
        def answer(_prompt: str) -> str:
            if meanwhile:  # another server ends a session while the model thinks
                self.remember(*self.new_line(day))
            if failing:
                raise RuntimeError("503")
            return "\n".join(before.bullets[:kept])

        before = self.store.read()
        asyncio.run(compress_memory_file(self.store, ask=model_that(answer)))

    def archive(self) -> list[str]:
        path = self.store.archive_path
        return path.read_text().splitlines() if path.exists() else []

    @invariant()
    def the_memory_is_whole(self) -> None:
        if not hasattr(self, "root"):
            return
        file, archive = self.store.read(), self.archive()
        assert CAPS.hold(file.lines)
        # A half line that a kill left in the archive is no line; the whole one stands elsewhere.
        archived = [line for line in archive if Bullet.parse(line) and line.endswith(".")]
        assert self.expected <= {*file.lines, *archived}
        assert len(set(file.lines)) == len(file.lines)
        assert len(set(archived)) == len(archived)
        assert list(file.written_by_person) == self.by_person


TestMemoryOutlivesEverything = MemoryOutlivesEverything.TestCase
TestMemoryOutlivesEverything.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
