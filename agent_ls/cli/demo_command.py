"""`agent-ls demo`: all of it, watched: the real server, a sample workspace, no key and no network."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_ls import local_model, protocol
from agent_ls.cli.agent_process import AgentProcess
from agent_ls.cli.terminal import Terminal
from agent_ls.demo import workspace
from agent_ls.demo.provider import DemoProvider, LocalTokens
from agent_ls.demo.script import AFTER_KILL, FILL, FIX, PASTES, RECALL, WINDOW, Step

Json = Mapping[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None: the demo is the same for everyone."""


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 if everything it shows was checked and true."""
    with tempfile.TemporaryDirectory(prefix="agent-ls-demo-") as folder:
        return asyncio.run(Demo(Path(folder)).run())


class Demo:
    """One showing. It is the client (`agent_process.Listener`) and checks what it shows."""

    def __init__(self, folder: Path) -> None:
        self.terminal = Terminal()
        self.folder = folder
        self.workspace = workspace.create(folder)
        self.gauge: Json = {}
        self.compactions: list[Json] = []
        self.wrong: list[str] = []

    async def run(self) -> int:
        """Show everything, in the same order each time."""
        say = self.terminal
        say.line("agent_ls demo", "bold")
        say.paragraph(
            "The real server runs as a child process and speaks LSP over stdio, as in an editor. Tool steps are "
            "recorded and replayed through the real tools; text and summaries come from a small model on this machine.",
            "dim",
        )
        if not local_model.is_installed():
            say.paragraph(
                f"The local model is not installed, so texts are canned. {local_model.HOW_TO_INSTALL}.", "dim"
            )
        tokens = await asyncio.to_thread(LocalTokens)
        try:
            with DemoProvider(tokens) as provider:
                await self._show(provider)
        finally:
            local_model.SERVER.stop()
        return self._verdict()

    async def _show(self, provider: DemoProvider) -> None:
        agent = await self._start(provider)
        try:
            await self._fix(agent)
            await self._fill(agent)
            await self._undo(agent)
            agent = await self._kill_and_resume(agent, provider)
            self._caption("What fills the window, as /context tells it.")
            await self._prompt(agent, "/context")
        finally:
            await agent.stop()

    async def _start(self, provider: DemoProvider) -> AgentProcess:
        home = str(self.folder / "home")
        environ = {**provider.environment, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home}
        settings = {
            "model": "openai:demo",
            "compactionContextWindowTokens": WINDOW,
            "memoryCompressionEnabled": False,
        }
        log = self.folder / "server.log"
        return await AgentProcess.start(self.workspace, self, settings=settings, environ=environ, log=log)

    async def _fix(self, agent: AgentProcess) -> None:
        await self._step(agent, FIX)
        self._check("price * quantity" in (self.workspace / "shop.py").read_text(), "the file is fixed on disk")

    async def _fill(self, agent: AgentProcess) -> None:
        for step in FILL:
            await self._step(agent, step)
        self._check(any(event["tier"] == "micro" for event in self._completed()), "a microcompaction made room")
        for step in PASTES:
            await self._step(agent, step)
        full = [event for event in self._completed() if event["tier"] == "full"]
        self._check(bool(full), "a full compaction made room")
        self._check(all(event["after"]["count"] < event["before"]["count"] for event in full), "the gauge dropped")
        await self._step(agent, RECALL)

    async def _undo(self, agent: AgentProcess) -> None:
        self._caption("A compaction can be taken back.")
        before = self.gauge["used"]["count"]
        result = await agent.request(protocol.UNDO_COMPACTION, {})
        self.terminal.line(result["message"])
        self._show_gauge(result["gauge"])
        self._check(result["undone"] and result["gauge"]["used"]["count"] > before, "the compaction is undone")

    async def _kill_and_resume(self, agent: AgentProcess, provider: DemoProvider) -> AgentProcess:
        self._caption("kill -9 of the server, and a new one that resumes.")
        rows = (await agent.request(protocol.SESSIONS, {}))["sessions"]
        agent.kill()
        self.terminal.line("$ kill -9", "dim")
        again = await self._start(provider)
        opened = await again.request(protocol.RESUME_SESSION, {"sessionId": "latest"})
        after = (await again.request(protocol.SESSIONS, {}))["sessions"]
        said = [update["content"]["text"] for update in opened["history"] if "text" in update.get("content", {})]
        self.terminal.line(f"Resumed: {after[0]['messages']} messages, {rows[0]['messages']} before the kill.")
        self._show_gauge(opened["gauge"])
        self._check(after[0]["messages"] == rows[0]["messages"], "no message was lost")
        self._check(any(FIX.prompt in text for text in said), "the first prompt is in the resumed session")
        await self._step(again, AFTER_KILL)
        return again

    # --- one step -----------------------------------------------------------------------------------------------------

    async def _step(self, agent: AgentProcess, step: Step) -> None:
        self._caption(step.caption)
        await self._prompt(agent, step.prompt)

    async def _prompt(self, agent: AgentProcess, prompt: str) -> None:
        first, _, rest = prompt.partition("\n")
        more = f" […{rest.count(chr(10)) + 1} lines]" if rest else ""
        self.terminal.line(f"> {first}{more}", "bold")
        result = await agent.request(protocol.PROMPT, {"prompt": prompt})
        self._check(result["stopReason"] == "end_turn", f"“{first}” was answered")
        self._show_gauge(result["gauge"])

    def _caption(self, text: str) -> None:
        self.terminal.line()
        self.terminal.paragraph(text, "blue")

    def _show_gauge(self, gauge: Json) -> None:
        self.gauge = gauge
        self.terminal.line(self.terminal.gauge(gauge))

    def _completed(self) -> list[Json]:
        return [event for event in self.compactions if event["status"] == "completed"]

    # --- what the server says -----------------------------------------------------------------------------------------

    def on_update(self, update: Json) -> None:
        """Show it."""
        self.terminal.update(update)

    def on_gauge(self, gauge: Json) -> None:
        """Keep it; it is shown after each step."""
        self.gauge = gauge

    def on_compaction(self, event: Json) -> None:
        """Show it."""
        self.compactions.append(event)
        self.terminal.compaction(event)

    def on_message(self, message: str) -> None:
        """Show it."""
        self.terminal.line(message, "yellow")

    async def on_permission(self, request: Json) -> Json:
        """Show the change, and allow it: here the demo answers for the person."""
        call = request["toolCall"]
        self.terminal.line(f"? May I: {call['title']}", "yellow")
        self.terminal.diff(call.get("content") or [])
        self.terminal.line("  (the demo answers: allow once)", "dim")
        return {"outcome": "selected", "optionId": "allow_once"}

    # --- the verdict --------------------------------------------------------------------------------------------------

    def _check(self, holds: bool, claim: str) -> None:
        if not holds:
            self.wrong.append(claim)
            self.terminal.line(f"✗ not so: {claim}", "red")

    def _verdict(self) -> int:
        say = self.terminal
        say.line()
        if self.wrong:
            say.line(f"{len(self.wrong)} of the things shown did not hold: {'; '.join(self.wrong)}.", "red")
            return 1
        say.line("Everything shown was checked.", "green")
        say.paragraph("Next: `agent-ls chat` here in the terminal, or your editor: README.md has a minute for each.")
        return 0
