"""`agent-ls chat` as a person uses it: through a terminal, with Ctrl-C and an edited line."""

from __future__ import annotations

import codecs
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulator import Reply, Simulator, ToolCall

_SECONDS = 60
CTRL_C = "\x03"
CTRL_D = "\x04"


def _log_in(terminal: int) -> None:
    """A terminal sends Ctrl-C to the session it controls; tests in the background inherit that it is ignored."""
    os.login_tty(terminal)
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Screen:
    """A chat in a terminal of its own."""

    def __init__(self, simulator: Simulator, workspace: Path) -> None:
        home = str(workspace.parent / "home")
        environ = {**os.environ, **simulator.environment, "TERM": "xterm", "HOME": home}
        environ.update({f"XDG_{kind}_HOME": home for kind in ("CONFIG", "DATA", "STATE")})
        environ.pop("NO_COLOR", None)
        self.fd, slave = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agent_ls", "chat", str(workspace), "--model", "openai:gpt-5"],
            env=environ,
            preexec_fn=lambda: _log_in(slave),
        )
        os.close(slave)
        self.seen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C, once the chat waits for something.

        CPython misses a signal that comes just before it begins to wait; no person is that fast.
        """
        while Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            os.sched_yield()
        self.type(CTRL_C)

    def wait_for(self, text: str) -> str:
        """All that was shown up to `text`, from where the last one ended."""
        while text not in self.seen:
            readable, _, _ = select.select([self.fd], [], [], _SECONDS)
            assert readable, f"{text!r} did not come; instead: {self.seen}"
            self.seen += self._decoder.decode(os.read(self.fd, 65536))
        before, _, self.seen = self.seen.partition(text)
        return before

    def status(self) -> int:
        """The exit status, once it has left."""
        while True:
            try:
                if not os.read(self.fd, 65536):
                    break
            except OSError:  # how Linux tells that nobody holds the terminal any more
                break
        return self.process.wait(_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.fd)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    replies = [
        Reply(tool_calls=[ToolCall("write_file", {"path": "new.py", "content": "x = 1\n"})]),
        Reply("It is written."),
        Reply(tool_calls=[ToolCall("run_command", {"command": "sleep 300"})]),
        Reply("Never said."),
    ]
    with Simulator(replies=replies) as running:
        yield running


@pytest.fixture
def screen(simulator: Simulator, workspace: Path) -> Iterator[Screen]:
    shown = Screen(simulator, workspace)
    yield shown
    shown.close()


def test_a_person_allows_cancels_and_leaves(screen: Screen, workspace: Path) -> None:
    screen.wait_for("○ 0% > ")
    screen.type("write it\r")
    question = screen.wait_for("say why not.")
    assert "\x1b[32m    +x = 1" in question
    assert "y allow once" in question
    screen.wait_for("> ")
    screen.type("y\r")
    screen.wait_for("It is written.")
    assert (workspace / "new.py").read_text() == "x = 1\n"
    screen.wait_for("% > ")
    screen.type("now wait\r")
    screen.wait_for("say why not.")
    screen.wait_for("> ")
    screen.type("y\r")
    screen.wait_for("\r\n")
    screen.interrupt()
    screen.wait_for("(cancelled)")
    screen.wait_for("% > ")
    screen.type(CTRL_D)
    assert screen.status() == 0


def test_ctrl_c_at_a_question_cancels_and_twice_at_the_prompt_leaves(screen: Screen, workspace: Path) -> None:
    screen.wait_for("○ 0% > ")
    screen.type("write it\r")
    screen.wait_for("say why not.")
    screen.wait_for("  > ")
    screen.interrupt()
    screen.wait_for("(cancelled)")
    assert not (workspace / "new.py").exists()
    screen.wait_for("% > ")
    screen.interrupt()
    screen.wait_for("again, or Ctrl-D")
    screen.wait_for("% > ")
    screen.interrupt()
    assert screen.status() == 0


def test_prompts_are_remembered_by_the_next_chat(simulator: Simulator, workspace: Path) -> None:
    first = Screen(simulator, workspace)
    first.wait_for("○ 0% > ")
    first.type("/help\r")
    first.wait_for("/compact")
    first.wait_for("% > ")
    first.type("/exit\r")
    assert first.status() == 0
    first.close()
    second = Screen(simulator, workspace)
    second.wait_for("○ 0% > ")
    second.type("\x1b[A\x1b[A")
    # Of the line that was there before, `/exit`, only what differs is drawn anew.
    second.wait_for("help")
    second.close()
