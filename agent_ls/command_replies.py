"""What a slash command does, and the answer a person reads (PROTOCOL "agent/prompt"): it reaches no model."""

from __future__ import annotations

from typing import assert_never

from agent_ls.cancellation import CancelAbsorbed
from agent_ls.memory.by_hand import NotRemembered
from agent_ls.protocol import ContextResult, PromptResult, SessionId
from agent_ls.session import Session
from agent_ls.slash_commands import SlashCommand, UnknownCommand, listing, unknown_command_text
from agent_ls.workspace_folder import LATEST, WorkspaceFolder


async def run_command(
    command: SlashCommand | UnknownCommand, prompt: str, folder: WorkspaceFolder, session: Session
) -> PromptResult:
    """Run it in `session`. `/new` and `/resume` answer for the session that is active afterwards."""
    with CancelAbsorbed():
        return await _run(command, prompt, folder, session)
    return session.cancelled()


async def _run(
    command: SlashCommand | UnknownCommand, prompt: str, folder: WorkspaceFolder, session: Session
) -> PromptResult:
    if isinstance(command, UnknownCommand):
        return session.reply(prompt, unknown_command_text(command.word))
    match command.name:
        case "help":
            return session.reply(prompt, listing())
        case "compact":
            return session.reply(prompt, (await session.compact(command.argument or None)).message)
        case "undo":
            return session.reply(prompt, (await session.undo_compaction()).message)
        case "context":
            return session.reply(prompt, _context_text(session.context()))
        case "new":
            new = await folder.new()
            return new.reply(prompt, "A new session.")
        case "resume":
            resumed = await folder.resume(SessionId(command.argument) if command.argument else LATEST)
            return resumed.reply(prompt, f"Resumed session {resumed.session_id}.")
        case "remember":
            try:
                return session.reply(prompt, f"Added to MEMORY.md: `{await folder.remember(command.argument)}`")
            except (NotRemembered, OSError) as error:
                return session.reply(prompt, str(error))
        case _:
            assert_never(command.name)


def _context_text(context: ContextResult) -> str:
    lines = [f"{context.total.count:,} of {context.window:,} tokens ({context.total.basis}):", ""]
    lines += [f"- {category.label}: {category.tokens.count:,}" for category in context.categories]
    return "\n".join([*lines, *(f"\n{advice}" for advice in context.advice)])
