"""Real processes over one memory: at once, and killed at any moment (FAULTS 47)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.memory.clip import Caps
from agent_ls.memory.store import MemoryStore
from agent_ls.protocol import SessionId

# Waits for the starting gun, so that all of them write at once, and writes its sessions.
WRITER = """
import sys
from pathlib import Path
from agent_ls.memory.clip import Caps
from agent_ls.memory.store import MemoryStore
store = MemoryStore(Path(sys.argv[1]), Caps(int(sys.argv[4]), 25_000))
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    name = f"{sys.argv[2]}-{number}"
    store.remember_session(name, 1, f"- 2026-12-01: Session {name} ended.")
    print(name, flush=True)
"""


def start(directory: Path, name: str, sessions: int, lines: int = 200) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(directory), name, str(sessions), str(lines)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def fire(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def finish(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.communicate()
        assert process.returncode == 0


def line(name: str) -> str:
    return f"- 2026-12-01: Session {name} ended."


def test_fault_47_two_servers_quit_at_once_and_both_bullets_are_there(store: MemoryStore) -> None:
    writers = [start(store.directory, name, 1) for name in ("left", "right")]
    fire(*writers)
    finish(*writers)
    assert set(store.read().lines) == {line("left-0"), line("right-0")}


def test_fault_47_many_writers_at_once_lose_no_line_and_write_none_twice(store: MemoryStore) -> None:
    writers = [start(store.directory, name, 10, lines=15) for name in ("a", "b", "c")]
    fire(*writers)
    finish(*writers)
    kept, archive = store.read().lines, store.archive_path.read_text().splitlines()
    assert len(kept) == 15
    assert sorted((*kept, *archive)) == sorted(line(f"{name}-{number}") for name in "abc" for number in range(10))


def test_fault_47_two_servers_that_remember_the_same_session_write_one_bullet(store: MemoryStore) -> None:
    writers = [start(store.directory, "same", 5) for _ in range(2)]
    fire(*writers)
    finish(*writers)
    assert store.read().lines == tuple(line(f"same-{number}") for number in range(5))


@pytest.mark.skipif(os.name != "posix", reason="kills with SIGKILL")
def test_killed_at_any_moment_every_session_is_remembered_once_after_the_next_start(store: MemoryStore) -> None:
    chance = random.Random(47)
    for attempt in range(8):
        writer = start(store.directory, f"k{attempt}", 50, lines=30)
        fire(writer)
        assert writer.stdout is not None
        for _ in range(chance.randrange(1, 8)):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        acknowledged = [f"k{attempt}-0", *writer.stdout.read().split()]
        writer.communicate()
        again = MemoryStore(store.directory, Caps(30, 25_000))
        for number in range(10):
            again.remember_session(SessionId(f"k{attempt}-{number}"), 1, line(f"k{attempt}-{number}"))
        archive = again.archive_path.read_text().splitlines() if again.archive_path.exists() else []
        everything = (*again.read().lines, *archive)
        assert len(again.read().lines) <= 30
        for name in {*acknowledged, *(f"k{attempt}-{number}" for number in range(10))}:
            assert everything.count(line(name)) == 1
