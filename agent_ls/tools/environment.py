"""What the tools of one session need from the rest of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from attrs import field, frozen

from agent_ls.client import Client
from agent_ls.log.replay import Original
from agent_ls.protocol import Plan, SessionId, ToolCallId, ToolCallUpdate
from agent_ls.settings.schema import Settings
from agent_ls.tools.documents import Documents
from agent_ls.tools.output import LongOutputs
from agent_ls.tools.permissions import PermissionPolicy
from agent_ls.tools.places import Places
from agent_ls.tools.processes import ChildProcesses, end_orphans
from agent_ls.tools.readings import Readings
from agent_ls.tools.result_room import ResultRoom


class RecallSource(Protocol):
    """Everything ever said in the session, in full; `History` is one."""

    def originals(self) -> Iterator[Original]:
        """Each message with its number, in order. Raises LogUnwritable if the log cannot be read."""


@frozen(kw_only=True)
class ToolEnvironment:
    """One session's surroundings; make it once per session, as it holds what the session has read and started.

    `workspace` is resolved. `outputs` is a private directory for results too long for the window, made when needed.
    `window` is the model's input window in tokens, `room` what of it the results of the round that begins may take,
    `weigh` estimates a text's tokens, `anything_elided` whether recall has something to find,
    `call_id` a client's id of the tool call the provider calls so, `announce` sends an update to the client.
    """

    workspace: Path
    session_id: SessionId
    client: Client
    settings: Callable[[], Settings]
    window: Callable[[], int]
    room: Callable[[], int]
    weigh: Callable[[str], int]
    recall: RecallSource
    anything_elided: Callable[[], bool]
    permissions: PermissionPolicy
    outputs: Path
    announce: Callable[[ToolCallUpdate | Plan], None]
    call_id: Callable[[str], ToolCallId] = ToolCallId
    places: Places = field(init=False)
    documents: Documents = field(init=False)
    readings: Readings = field(init=False, factory=Readings)
    long_outputs: LongOutputs = field(init=False)
    result_room: ResultRoom = field(init=False)
    children: ChildProcesses = field(init=False)

    @places.default
    def _places(self) -> Places:
        return Places.of_workspace(self.workspace)

    @documents.default
    def _documents(self) -> Documents:
        return Documents(self.client, self.places.root)

    @long_outputs.default
    def _long_outputs(self) -> LongOutputs:
        return LongOutputs(self.outputs)

    @result_room.default
    def _result_room(self) -> ResultRoom:
        return ResultRoom(self.window, self.room, self.weigh)

    @children.default
    def _children(self) -> ChildProcesses:
        # A server that was killed could not end its own; the next session does it.
        end_orphans()
        return ChildProcesses(self.session_id)

    def kill_children(self) -> None:
        """End every process the session's commands have left; call it when the session or the server ends."""
        self.children.kill()
