"""Who may do what: the rules of the permission modes, the questions to a person and what they answered (DESIGN §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Literal, TypeAlias, assert_never

from attrs import define, field, frozen

from agent_ls.client import Client
from agent_ls.protocol import PermissionOption, PermissionOutcome, SessionId, ToolCall
from agent_ls.settings.schema import PermissionMode
from agent_ls.tools.approvals import Approval, ApprovalFile, ExactCommand, ExactPath, WorkspaceEdits
from agent_ls.tools.places import Place


@frozen
class Read:
    """Look at a file or directory."""

    place: Place


@frozen
class Change:
    """Write a file."""

    place: Place


@frozen
class Run:
    """Run a shell command, exactly as written."""

    command: str


Action: TypeAlias = Read | Change | Run


@frozen
class Allowed:
    """Nobody needs to be asked, or somebody said yes."""


@frozen
class Refused:
    """It may not be done; `reason` is a sentence for the model."""

    reason: str


@frozen
class Ask:
    """A person has to decide. `approval` is what a lasting yes would cover; None if only a single yes is offered."""

    approval: Approval | None
    lasting: Literal["no", "session", "workspace"]


ALLOW_ONCE: Final = "allow_once"
ALLOW_SESSION: Final = "allow_session"
ALLOW_WORKSPACE: Final = "allow_workspace"
REJECT: Final = "reject_once"

_UNANSWERED: Final = (
    "Not allowed: nobody answered the permission question. Do not try to do the same in another way; "
    "say what you wanted to do, or go on without it."
)


def judge(action: Action, mode: PermissionMode) -> Allowed | Refused | Ask:
    """The rule for `action` in `mode`, without any answers given so far."""
    match action:
        case Read(place):
            return _judge_read(place, mode)
        case Change(place):
            return _judge_change(place, mode)
        case Run(command):
            if mode == "readOnly":
                return _read_only("no command may be run")
            return Allowed() if mode == "bypass" else Ask(ExactCommand(command), "workspace")
        case _:
            assert_never(action)


def _judge_read(place: Place, mode: PermissionMode) -> Allowed | Refused | Ask:
    if place.system:
        return Refused(f"Not allowed: {place.path} is no file of the project; /proc, /sys and /dev cannot be read.")
    if mode == "bypass" or (place.inside and not place.secret):
        return Allowed()
    return Ask(ExactPath("read", str(place.path)), "session" if place.secret else "workspace")


def _judge_change(place: Place, mode: PermissionMode) -> Allowed | Refused | Ask:
    if place.system or place.protected:
        return Refused(
            f"Not allowed: {place.path} cannot be written by a tool in any mode. "
            "Files of .git, .agent_ls and the user's agent-ls directories are protected."
        )
    if mode == "readOnly":
        return _read_only("nothing may be written")
    if mode == "bypass":
        return Allowed()
    if place.secret or place.executed or not place.inside:
        return Ask(ExactPath("write", str(place.path)), "session")
    return Allowed() if mode == "acceptEdits" else Ask(WorkspaceEdits(), "workspace")


def _read_only(what: str) -> Refused:
    return Refused(f"Not allowed: {what}, as the user has set permission_mode to readOnly.")


@define
class PermissionPolicy:
    """Decides for one session. Answers for the session live here, those for the workspace in the user's file."""

    session_id: SessionId
    client: Client
    mode: Callable[[], PermissionMode]
    approvals: ApprovalFile
    _granted: set[Approval] = field(init=False, factory=set)
    # One question at a time: the answer to the first may settle the next ones.
    _asking: asyncio.Lock = field(init=False, factory=asyncio.Lock)

    def refusal(self, action: Action) -> Refused | None:
        """Why `action` may not be done, whatever a person would say; None if it may or they decide."""
        verdict = judge(action, self.mode())
        return verdict if isinstance(verdict, Refused) else None

    async def permit(self, action: Action, tool_call: Callable[[], ToolCall]) -> Allowed | Refused:
        """Whether `action` may be done, asking a person if the rules say so. `tool_call` makes what is shown."""
        verdict = judge(action, self.mode())
        if not isinstance(verdict, Ask):
            return verdict
        async with self._asking:
            # The mode may have been changed, or a lasting yes given, while other questions were open.
            verdict = judge(action, self.mode())
            if not isinstance(verdict, Ask):
                return verdict
            if verdict.approval is not None and self._has(verdict.approval):
                return Allowed()
            options = _options(verdict)
            outcome = await self.client.request_permission(self.session_id, tool_call(), options)
            return await self._take(outcome, verdict, {option.option_id for option in options})

    def _has(self, approval: Approval) -> bool:
        return approval in self._granted or approval in self.approvals.load()

    async def _take(self, outcome: PermissionOutcome, asked: Ask, offered: set[str]) -> Allowed | Refused:
        if outcome.outcome != "selected" or outcome.option_id not in offered:
            return Refused(_UNANSWERED)
        match outcome.option_id:
            case "allow_once":
                return Allowed()
            case "allow_session" if asked.approval is not None:
                self._granted.add(asked.approval)
                return Allowed()
            case "allow_workspace" if asked.approval is not None:
                self._granted.add(asked.approval)
                await asyncio.to_thread(self.approvals.add, asked.approval)
                return Allowed()
            case _:
                return Refused(_rejection(outcome.reason))


def _rejection(reason: str | None) -> str:
    if reason and reason.strip():
        return f"The user refused this and says: {reason.strip()}"
    return "The user refused this. Do not try to do the same in another way; ask, or go on without it."


def _options(asked: Ask) -> list[PermissionOption]:
    what = _covered(asked.approval)
    options = [PermissionOption(ALLOW_ONCE, "Allow once", "allow_once")]
    if asked.lasting != "no":
        options.append(PermissionOption(ALLOW_SESSION, f"Allow {what} for this session", "allow_always"))
    if asked.lasting == "workspace":
        options.append(PermissionOption(ALLOW_WORKSPACE, f"Always allow {what} in this workspace", "allow_always"))
    return [*options, PermissionOption(REJECT, "Reject", "reject_once")]


def _covered(approval: Approval | None) -> str:
    match approval:
        case WorkspaceEdits():
            return "edits of the workspace's files"
        case ExactCommand():
            return "exactly this command"
        case ExactPath(access):
            return "reading this file" if access == "read" else "writing this file"
        case None:
            return "this"
        case _:
            assert_never(approval)
