"""`agent-ls chat`: a plain terminal client over the same protocol an editor uses."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pygls.exceptions import JsonRpcException

from agent_ls import protocol
from agent_ls.cli.agent_process import AgentProcess, AgentProcessEnded
from agent_ls.cli.terminal import Terminal

Json = Mapping[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where, with which model, and whether to go on with an earlier session."""
    parser.add_argument("workspace", nargs="?", type=Path, default=Path.cwd(), help="the folder to work in")
    parser.add_argument("--model", help="a pydantic-ai model name, or `local`")
    parser.add_argument(
        "--resume", nargs="?", const="latest", metavar="ID", help="go on with a session, by default the latest"
    )
    parser.add_argument("--log", type=Path, help="a file for the server's own log")


def run(arguments: argparse.Namespace) -> int:
    """Chat until end of input; 0, or 1 if the server ended on its own."""
    return asyncio.run(Chat(Terminal(), sys.stdin.isatty()).run(arguments))


class Chat:
    """One chat; it is the client (`agent_process.Listener`)."""

    def __init__(self, terminal: Terminal, interactive: bool) -> None:
        self.terminal = terminal
        self.interactive = interactive
        self.gauge: Json = {}
        self._agent: AgentProcess | None = None
        self._running = False

    async def run(self, arguments: argparse.Namespace) -> int:
        """Read prompts and run turns."""
        settings = {"model": arguments.model} if arguments.model else {}
        self._agent = agent = await AgentProcess.start(
            arguments.workspace.resolve(), self, settings=settings, log=arguments.log
        )
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C ends the chat
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupted)
        try:
            await self._begin(agent, arguments.resume)
            while (prompt := await self._read()) is not None:
                if prompt.strip():
                    await self._turn(agent, prompt)
        except AgentProcessEnded as error:
            self.terminal.line(f"{error}. --log FILE keeps its log.", "red")
            return 1
        finally:
            await agent.stop()
        return 0

    async def _begin(self, agent: AgentProcess, resume: str | None) -> None:
        if self.interactive:
            self.terminal.line("agent_ls. /help lists commands, Ctrl-C stops a turn, Ctrl-D leaves.", "dim")
        if resume is not None:
            await self._asked(self._resume(agent, resume))

    async def _resume(self, agent: AgentProcess, session: str) -> None:
        opened = await agent.request(protocol.RESUME_SESSION, {"sessionId": session})
        for update in opened["history"]:
            if update["sessionUpdate"] == "user_message_chunk":
                self.terminal.line(f"> {update['content'].get('text', '[picture]')}", "bold")
            else:
                self.terminal.update(update)
        self.gauge = opened["gauge"]
        self.terminal.end_line()

    async def _turn(self, agent: AgentProcess, prompt: str) -> None:
        self._running = True
        try:
            await self._asked(self._prompt(agent, prompt))
        finally:
            self._running = False

    async def _prompt(self, agent: AgentProcess, prompt: str) -> None:
        result = await agent.request(protocol.PROMPT, {"prompt": prompt})
        self.gauge = result["gauge"]
        self.terminal.end_line()
        if result["stopReason"] != "end_turn":
            self.terminal.line(f"({result['stopReason']})", "yellow")

    async def _asked(self, request: Any) -> None:
        try:
            await request
        except JsonRpcException as error:
            hint = (error.data or {}).get("hint") if isinstance(error.data, dict) else None
            self.terminal.line(f"{error.message}{f' {hint}' if hint else ''}", "red")

    async def _read(self, question: str | None = None) -> str | None:
        """A line from the person; None at the end of input."""
        shown = question if question is not None else f"{self.gauge.get('text', '○ 0%')} > "
        try:
            return await asyncio.to_thread(input, shown if self.interactive else "")
        except EOFError:
            return None

    def _interrupted(self) -> None:
        if self._running and self._agent is not None and "sessionId" in self.gauge:
            self._agent.cancel_turn(self.gauge["sessionId"])
        else:
            self.terminal.line("Ctrl-D leaves.", "dim")

    # --- what the server says -----------------------------------------------------------------------------------------

    def on_update(self, update: Json) -> None:
        """Show it."""
        self.terminal.update(update)

    def on_gauge(self, gauge: Json) -> None:
        """Keep it for the prompt line."""
        self.gauge = gauge

    def on_compaction(self, event: Json) -> None:
        """Show it."""
        self.terminal.compaction(event)

    def on_message(self, message: str) -> None:
        """Show it."""
        self.terminal.line(message, "yellow")

    async def on_permission(self, request: Json) -> Json:
        """Show the change and ask."""
        call, options = request["toolCall"], request["options"]
        self.terminal.line(f"? {call['title']}", "yellow")
        self.terminal.diff(call.get("content") or [])
        for number, option in enumerate(options, 1):
            self.terminal.line(f"  {number}) {option['name']}")
        answer = (await self._read("? ") or "").strip()
        if answer.isdigit() and 1 <= int(answer) <= len(options):
            return {"outcome": "selected", "optionId": options[int(answer) - 1]["optionId"]}
        if answer.lower() in ("y", "yes"):
            return {"outcome": "selected", "optionId": options[0]["optionId"]}
        reject = next((option for option in options if option["kind"].startswith("reject")), None)
        if reject is None:
            return {"outcome": "cancelled"}
        reason = {} if answer.lower() in ("", "n", "no") else {"reason": answer}
        return {"outcome": "selected", "optionId": reject["optionId"], **reason}
