"""`agent-ls chat`: a plain terminal client over the same protocol an editor uses."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import queue
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import field, frozen
from pygls.exceptions import JsonRpcException

from agent_ls import protocol
from agent_ls.cli.agent_process import AgentProcess, AgentProcessEnded
from agent_ls.cli.line_input import LineInput
from agent_ls.cli.terminal import Terminal
from agent_ls.errors import AgentError

Json = Mapping[str, Any]
T = TypeVar("T")

_WELCOME: Final = "agent-ls chat. /help lists commands; Ctrl-C stops a turn, twice leaves; Ctrl-D leaves."
_LEAVE: Final = ("/exit", "/quit")
_NO_ANSWER: Final[Json] = {"outcome": "cancelled"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where, with which model, and whether to go on with an earlier session."""
    parser.add_argument("workspace", nargs="?", type=Path, default=Path(), help="the folder to work in (default: here)")
    parser.add_argument("--model", help="a model by pydantic-ai's name (anthropic:…, openai:…), or local")
    parser.add_argument(
        "--resume", nargs="?", const="latest", metavar="ID", help="go on with a session, by default the latest"
    )
    parser.add_argument("--log", type=Path, help="a file for the server's own log")


def run(arguments: argparse.Namespace) -> int:
    """Chat until the end of input; 1 if the server ended on its own or, in a script, a prompt failed."""
    workspace = arguments.workspace.resolve()
    if not workspace.is_dir():
        raise AgentError(f"There is no folder {workspace}.")
    lines = LineInput()
    try:
        with _loop_in_a_thread() as loop:
            return Chat(lines, loop).run(workspace, arguments)
    finally:
        lines.close()


@frozen(eq=False)
class _Question:
    """The server asks for permission: the main thread asks the person."""

    request: Json
    answer: Future[Json] = field(factory=Future)

    def reply(self, outcome: Json) -> None:
        """Answer, unless the server has taken its question back."""
        with contextlib.suppress(InvalidStateError):
            self.answer.set_result(outcome)


class _Leave(Exception):
    """The person leaves, or input has ended."""


class Chat:
    """One chat; it is the client (`agent_process.Listener`).

    The main thread reads and waits, because only there does Ctrl-C interrupt reading; the protocol runs in `loop`.
    """

    def __init__(self, lines: LineInput, loop: asyncio.AbstractEventLoop) -> None:
        self.terminal = Terminal()
        self.lines = lines
        self.gauge: Json = {}
        self._loop = loop
        self._asked: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._warned: set[str] = set()
        self._failed = False

    def run(self, workspace: Path, arguments: argparse.Namespace) -> int:
        """Read prompts and run turns until the person leaves."""
        settings = {"model": arguments.model} if arguments.model else {}
        agent = self._run(AgentProcess.start(workspace, self, settings=settings, log=arguments.log))
        try:
            if self.lines.interactive:
                self.terminal.paragraph(_WELCOME, "dim")
            if arguments.resume is not None and not self._turn(agent, self._resume(agent, arguments.resume)):
                return 1
            while True:
                prompt = self._read_prompt()
                if prompt.strip() and not self._turn(agent, self._prompt(agent, prompt)):
                    self._failed = True
        except _Leave:
            self.terminal.end_line()
        except AgentProcessEnded as error:
            self.terminal.line(f"{error}. `--log FILE` keeps its log.", "red")
            return 1
        finally:
            with contextlib.suppress(KeyboardInterrupt):
                self._run(agent.stop())
        return int(self._failed and not self.lines.interactive)

    # --- what the person does, in the main thread ---------------------------------------------------------------------

    def _read_prompt(self) -> str:
        """A prompt. Ctrl-C at it asks for another; twice leaves."""
        interrupted = False
        while True:
            try:
                text = self.lines.prompt(f"{self.gauge.get('text', '○ 0%')} > ")
            except KeyboardInterrupt:
                if interrupted:
                    raise _Leave from None
                interrupted = True
                self.terminal.line("\n(Ctrl-C again, or Ctrl-D, leaves.)", "dim")
                continue
            if text is None or text.strip() in _LEAVE:
                raise _Leave
            return text

    def _turn(self, agent: AgentProcess, work: Coroutine[Any, Any, None]) -> bool:
        """Run a request, putting the server's questions to the person meanwhile; whether it succeeded.

        Ctrl-C cancels what runs; a second one leaves at once.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        future.add_done_callback(lambda _: self._asked.put(None))
        interrupted = False
        question: _Question | None = None
        while True:
            try:
                if (question := self._asked.get()) is None:
                    break
                question.reply(self._ask(question.request))
            except KeyboardInterrupt:
                if interrupted:
                    agent.kill()
                    raise _Leave from None
                interrupted = True
                self._loop.call_soon_threadsafe(self._cancel, agent)
                if question is not None:
                    question.reply(_NO_ANSWER)
        try:
            future.result()
        except JsonRpcException as error:
            hint = error.data.get("hint") if isinstance(error.data, dict) else None
            said = f" {hint}" if hint and not error.message.endswith(hint) else ""
            self.terminal.line(f"{error.message}{said}", "red")
            return False
        return True

    def _ask(self, request: Json) -> Json:
        """Show what is asked for, and what the person answers."""
        self.terminal.question(request["toolCall"])
        choices = _choices(request["options"])
        if self.lines.interactive:
            shown = ", ".join(f"{key} {option['name'].lower()}" for key, option in choices.items())
            self.terminal.paragraph(f"{shown}; or say why not.", "dim", first="  ", indent="  ")
        return _outcome((self.lines.answer("  > ") or "").strip(), choices)

    def _cancel(self, agent: AgentProcess) -> None:
        if "sessionId" in self.gauge:
            agent.cancel_turn(self.gauge["sessionId"])

    # --- requests, in the loop ----------------------------------------------------------------------------------------

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _resume(self, agent: AgentProcess, session: str) -> None:
        opened = await agent.request(protocol.RESUME_SESSION, {"sessionId": session})
        for update in opened["history"]:
            if update["sessionUpdate"] == "user_message_chunk":
                self.terminal.user(update["content"].get("text", "[picture]"))
            else:
                self.terminal.update(update)
        self.gauge = opened["gauge"]
        self.terminal.end_line()

    async def _prompt(self, agent: AgentProcess, prompt: str) -> None:
        result = await agent.request(protocol.PROMPT, {"prompt": prompt})
        self.gauge = result["gauge"]
        self.terminal.end_line()
        if result["stopReason"] != "end_turn":
            self.terminal.line(f"({result['stopReason'].replace('_', ' ')})", "yellow")

    # --- what the server says, in the loop ----------------------------------------------------------------------------

    def on_update(self, update: Json) -> None:
        """Show it."""
        self.terminal.update(update)

    def on_gauge(self, gauge: Json) -> None:
        """Keep it for the prompt; say what it warns of, once."""
        self.gauge = gauge
        for warning in gauge["warnings"]:
            if warning["message"] not in self._warned:
                self._warned.add(warning["message"])
                self.terminal.paragraph(f"! {warning['message']}", "yellow")

    def on_compaction(self, event: Json) -> None:
        """Show it."""
        self.terminal.compaction(event)

    def on_message(self, message: str) -> None:
        """Show it."""
        self.terminal.line(message, "yellow")

    async def on_permission(self, request: Json) -> Json:
        """Have the main thread ask."""
        question = _Question(request)
        self._asked.put(question)
        return await asyncio.wrap_future(question.answer)


def _choices(options: Sequence[Json]) -> Mapping[str, Json]:
    """The options by what is typed for them: y for once, s and a for what lasts, n for no."""
    keys = {"allow_once": "y", "allow_session": "s", "allow_workspace": "a"}
    return {keys.get(option["optionId"], "n"): option for option in options}


def _outcome(typed: str, choices: Mapping[str, Json]) -> Json:
    words = {"yes": "y", "session": "s", "always": "a", "no": "n", "": "n"}
    key = words.get(typed.lower(), typed.lower())
    if key in choices:
        return {"outcome": "selected", "optionId": choices[key]["optionId"]}
    # Whatever else is typed is said to the agent, as the reason for a no.
    if "n" in choices:
        return {"outcome": "selected", "optionId": choices["n"]["optionId"], "reason": typed}
    return _NO_ANSWER


@contextlib.contextmanager
def _loop_in_a_thread() -> Iterator[asyncio.AbstractEventLoop]:
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield loop
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
