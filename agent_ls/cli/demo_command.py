"""`agent-ls demo`: all of it, watched: the real server, a sample workspace, no key and no network."""

from __future__ import annotations

import argparse
import asyncio
import os
import site
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from pygls.exceptions import JsonRpcException

from agent_ls import local_model, protocol
from agent_ls.cli.agent_process import AgentProcess, AgentProcessEnded
from agent_ls.cli.terminal import Terminal
from agent_ls.demo import script, workspace
from agent_ls.demo.local_text import LocalText
from agent_ls.demo.provider import DemoProvider
from agent_ls.demo.script import Step
from agent_ls.demo.workspace import FIXED_LINE
from agent_ls.installation import how_to_run

Json = Mapping[str, Any]

_INTRODUCTION: Final = (
    "The real server runs as a child process and speaks LSP over stdio, as with an editor, in a sample project in a "
    "temporary folder. The tools are real. Which tools are called is recorded; sentences and summaries are written "
    "by a very small model on this machine, so do not expect wisdom of them."
)
_NEXT: Final = (
    (how_to_run("chat"), "talk to it here, in a folder of yours (--model anthropic:…, openai:… or local)"),
    (how_to_run("doctor"), "which model and settings it would use, and what is missing"),
    ("README.md", "a minute with Neovim, with VS Code, with any LSP client"),
)
_CHARACTERS_READ_PER_SECOND: Final = 60
_MOST_SUMMARY_LINES: Final = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None: the demo is the same for everyone."""


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 if everything it shows was checked and true."""
    with tempfile.TemporaryDirectory(prefix="agent-ls-demo-") as folder:
        return asyncio.run(Demo(Path(folder).resolve()).run())


@frozen
class _Opened:
    """A session as a client gets it: what was said, the gauge, and how many messages its log holds."""

    history: list[Json]
    gauge: Json
    messages: int


class Demo:
    """One showing. It is the server's client (`agent_process.Listener`), and checks what it shows."""

    def __init__(self, folder: Path) -> None:
        self.terminal = Terminal(most_diff_lines=8)
        self.folder = folder
        self.workspace = workspace.create(folder)
        self.percents: list[int] = []
        self.compactions: list[Json] = []
        self.results: list[str] = []
        self.questions = 0
        self.answer = ""
        self.claims: list[tuple[str, bool]] = []
        self._kill_when_asked: AgentProcess | None = None

    async def run(self) -> int:
        """Show everything, in the same order each time."""
        began = time.monotonic()
        say = self.terminal
        say.line("agent-ls demo", "bold")
        say.paragraph(_INTRODUCTION, "dim")
        if not local_model.is_installed():
            how = local_model.how_to_install()
            say.paragraph(f"That model is not installed, so sentences are canned. To install it: {how}.", "yellow")
        local = await asyncio.to_thread(LocalText)
        try:
            with DemoProvider(local) as provider:
                await self._show(provider)
        except AgentProcessEnded as ended:
            self._check(False, f"the server runs ({ended})")
        except JsonRpcException as refused:
            self._check(False, f"what was asked is answered ({refused.message})")
        finally:
            local_model.SERVER.stop()
        return self._verdict(time.monotonic() - began)

    async def _show(self, provider: DemoProvider) -> None:
        agent = await self._start(provider)
        try:
            await self._fix(agent)
            await self._fill(agent)
            await self._compact(agent, provider)
            await self._recall(agent)
            await self._undo(agent)
            agent = await self._kill_and_resume(agent, provider)
            await self._show_context(agent)
        finally:
            await agent.stop()

    async def _start(self, provider: DemoProvider) -> AgentProcess:
        settings = {
            "model": "openai:demo",
            "compactionContextWindowTokens": script.WINDOW,
            "memoryCompressionEnabled": False,
        }
        environ = {**_own_environment(self.folder / "home"), **provider.environment}
        log = self.folder / "server.log"
        return await AgentProcess.start(self.workspace, self, settings=settings, environ=environ, log=log)

    # --- what is shown ------------------------------------------------------------------------------------------------

    async def _fix(self, agent: AgentProcess) -> None:
        await self._step(agent, script.FIX)
        self._check(FIXED_LINE in (self.workspace / "shop.py").read_text(), "the edit it showed is in the file")
        self._check(any("ok: a basket" in result for result in self.results), "the command it asked for ran")
        self._check(self.questions == 2, "it asked before it edited and before it ran something")

    async def _fill(self, agent: AgentProcess) -> None:
        await self._step(agent, script.READ)
        await self._step(agent, script.READ_MORE)
        micro = self._completed("micro")
        self._check(len(micro) == 1 and _shrank(micro[0]), "past 60 % a microcompaction made room")
        await self._step(agent, script.WRITE)
        asked = self.questions
        await self._step(agent, script.WRITE_MORE)
        self._check(self.questions == asked, "what was allowed for the session is not asked again")
        self._check((self.workspace / "rules.py").is_file(), "what it wrote is on disk")

    async def _compact(self, agent: AgentProcess, provider: DemoProvider) -> None:
        before = self.percents[-1]
        await self._step(agent, script.READ_AGAIN)
        full = self._completed("full")
        self._check(len(full) == 1 and _shrank(full[0]), "at 80 % a full compaction made room within the turn")
        self._check(max(self.percents) < 100 and self.percents[-1] < before, "the gauge dropped")
        self._check(script.RULE in provider.last_request, "the model still reads your rule, word for word")

    async def _recall(self, agent: AgentProcess) -> None:
        await self._step(agent, script.RECALL)
        _, _, recalled = self.results[-1].partition("\n")
        # The whole of what was read then, and nothing else in this session, ends like this.
        held = any(result.endswith(recalled) for result in self.results[:-1])
        self._check(len(recalled) > 20 and held, "what was blanked and summarised was recalled to the byte")

    async def _undo(self, agent: AgentProcess) -> None:
        await self._caption("A compaction can be taken back. (Old tool outputs are blanked again; see the gauge.)")
        before = self.percents[-1]
        await self._prompt(agent, "/undo")
        self._check("is undone" in self.answer and self.percents[-1] > before, "the compaction was undone")

    async def _kill_and_resume(self, agent: AgentProcess, provider: DemoProvider) -> AgentProcess:
        step = script.INTERRUPTED
        before = await self._opened(agent)
        await self._caption(step.caption)
        self._kill_when_asked = agent
        try:
            await self._prompt(agent, step.prompt)
            self._check(False, "the server was killed within a turn")
        except AgentProcessEnded:
            await agent.kill_and_wait()
        self._kill_when_asked = None
        await self._caption("A new server takes the session up from its log.")
        again = await self._start(provider)
        after = await self._opened(again)
        self.terminal.paragraph(
            f"{before.messages} messages in the log before that turn, {after.messages} now: the same ones, and the two "
            "of the killed turn, its prompt and the call it was about to make."
        )
        self._show_gauge(after.gauge)
        same = after.history[: len(before.history)] == before.history
        self._check(same and after.messages == before.messages + 2, "after kill -9 every message is still there")
        self._check(_user_words(after.history)[-1] == step.prompt, "so is the prompt of the turn that was killed")
        await self._step(again, script.GO_ON)
        return again

    async def _opened(self, agent: AgentProcess) -> _Opened:
        opened = await agent.request(protocol.RESUME_SESSION, {"sessionId": "latest"})
        rows = (await agent.request(protocol.SESSIONS, {}))["sessions"]
        return _Opened(opened["history"], opened["gauge"], rows[0]["messages"])

    async def _show_context(self, agent: AgentProcess) -> None:
        await self._caption("And at any time: what fills the window?")
        await self._prompt(agent, "/context")
        self._check("Tool results" in self.answer, "/context tells what fills the window")

    # --- one step -----------------------------------------------------------------------------------------------------

    async def _step(self, agent: AgentProcess, step: Step) -> None:
        await self._caption(step.caption)
        self._permission = step.permission
        await self._prompt(agent, step.prompt)

    _permission = "allow_once"

    async def _prompt(self, agent: AgentProcess, prompt: str) -> None:
        self.terminal.user(prompt)
        result = await agent.request(protocol.PROMPT, {"prompt": prompt})
        self.answer = result["text"]
        if result["stopReason"] != "end_turn" or not self.answer:
            self._check(False, f"“{prompt}” is answered")
        self._show_gauge(result["gauge"])

    async def _caption(self, text: str) -> None:
        self.terminal.line()
        self.terminal.paragraph(text, "blue")
        self.terminal.line()
        if self.terminal.is_terminal:
            await asyncio.sleep(len(text) / _CHARACTERS_READ_PER_SECOND)

    def _show_gauge(self, gauge: Json) -> None:
        self.terminal.line(self.terminal.gauge(gauge))

    def _completed(self, tier: str) -> list[Json]:
        return [event for event in self.compactions if event["status"] == "completed" and event["tier"] == tier]

    # --- what the server says -----------------------------------------------------------------------------------------

    def on_update(self, update: Json) -> None:
        """Show it; keep what tools returned."""
        self.terminal.update(update)
        if update["sessionUpdate"] == "tool_call_update":
            self.results += [
                item["content"]["text"] for item in update.get("content") or [] if item["type"] == "content"
            ]

    def on_gauge(self, gauge: Json) -> None:
        """Keep it; it is shown after each step."""
        self.percents.append(gauge["percent"])

    def on_compaction(self, event: Json) -> None:
        """Show it, and the beginning of the summary."""
        self.compactions.append(event)
        self.terminal.compaction(event)
        lines = [line.strip() for line in (event.get("summary") or "").splitlines()]
        said = [line for line in lines if line not in ("", "None") and not line.startswith("#")]
        for line in said[:_MOST_SUMMARY_LINES]:
            self.terminal.paragraph(f"“{line}”", "dim", first="  ", indent="  ")

    def on_message(self, message: str) -> None:
        """Show it."""
        self.terminal.line(message, "yellow")

    async def on_permission(self, request: Json) -> Json:
        """Show the change, and answer for the person; or let the server die of it."""
        self.questions += 1
        self.terminal.question(request["toolCall"])
        if self._kill_when_asked is not None:
            self.terminal.line("  $ kill -9", "red")
            self._kill_when_asked.kill()
            return {"outcome": "cancelled"}
        options = {option["optionId"]: option["name"] for option in request["options"]}
        self.terminal.line(f"  (the demo answers for you: {options[self._permission]})", "dim")
        return {"outcome": "selected", "optionId": self._permission}

    # --- the verdict --------------------------------------------------------------------------------------------------

    def _check(self, holds: bool, claim: str) -> None:
        self.claims.append((claim, holds))
        if not holds:
            self.terminal.line(f"✗ not so: {claim}", "red")

    def _verdict(self, seconds: float) -> int:
        say = self.terminal
        say.line()
        say.line("Checked by the demo itself:", "bold")
        for claim, holds in self.claims:
            say.line(f"  {'✓' if holds else '✗'} {claim}", "green" if holds else "red")
        say.line()
        if not all(holds for _, holds in self.claims):
            say.line(f"Not everything shown is true ({seconds:.0f} s).", "red")
            return 1
        say.line(f"Everything shown was checked, in {seconds:.0f} seconds. What next:", "bold")
        for what, why in _NEXT:
            say.line(f"  {what}")
            say.paragraph(why, "dim", first="    ", indent="    ")
        return 0


def _own_environment(home: Path) -> Mapping[str, str]:
    """The environment of the demo's server: nothing of the user's settings, files or keys reaches it."""
    home.mkdir(exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("AGENT_LS_") and not name.endswith("_API_KEY")
    }
    folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    # Packages of a `pip install --user` are found under the real home.
    packages = {"PYTHONUSERBASE": site.getuserbase()} if sys.flags.no_user_site == 0 else {}
    return {**kept, "HOME": str(home), "USERPROFILE": str(home), **folders, **packages}


def _shrank(event: Json) -> bool:
    return bool(event["after"]["count"] < event["before"]["count"])


def _user_words(history: list[Json]) -> list[str]:
    return [update["content"]["text"] for update in history if update["sessionUpdate"] == "user_message_chunk"]
