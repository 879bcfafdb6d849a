"""A session's tools over a real directory, a scripted model and a double of the editor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field, frozen
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agent_ls.compaction.text_weight import estimate_text
from agent_ls.log.replay import Original
from agent_ls.protocol import Plan, SessionId, ToolCallUpdate
from agent_ls.settings import Settings
from agent_ls.tools.approvals import ApprovalFile
from agent_ls.tools.capabilities import agent_capabilities
from agent_ls.tools.environment import ToolEnvironment
from agent_ls.tools.permissions import PermissionPolicy
from tests.fake_client import FakeClient

Call = tuple[str, dict[str, Any] | str]


@frozen
class Result:
    """What the model was told of one call."""

    outcome: str
    content: str


@define
class Originals:
    """A recall source whose messages the test gives."""

    messages: Sequence[Original] = ()

    def originals(self) -> Iterator[Original]:
        return iter(self.messages)


@define
class Bench:
    """Everything one test needs."""

    workspace: Path
    approvals: Path
    client: FakeClient = field(factory=FakeClient)
    settings: Settings = field(factory=Settings)
    window: int = 1_000_000
    room: int = 1_000_000
    originals: Originals = field(factory=Originals)
    elided: bool = False
    announced: list[ToolCallUpdate | Plan] = field(factory=list)
    environment: ToolEnvironment = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.environment = self.new_session()

    def new_session(self) -> ToolEnvironment:
        session_id = SessionId("session")
        return ToolEnvironment(
            workspace=self.workspace,
            session_id=session_id,
            client=self.client,
            settings=lambda: self.settings,
            window=lambda: self.window,
            room=lambda: self.room,
            weigh=lambda text: round(estimate_text(text)),
            recall=self.originals,
            anything_elided=lambda: self.elided,
            permissions=PermissionPolicy(
                session_id=session_id,
                client=self.client,
                mode=lambda: self.settings.permission_mode,
                approvals=ApprovalFile(self.approvals, self.workspace),
            ),
            outputs=self.workspace / ".agent_ls" / "outputs",
            announce=self.announced.append,
        )

    def mode(self, mode: Any) -> None:
        self.settings = Settings(permission_mode=mode)

    async def calls(self, *rounds: Sequence[Call]) -> list[Result]:
        """Run one turn in which the model makes these calls, a list per response; their results in order."""
        script = iter(rounds)
        number = iter(range(10_000))

        def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            calls = next(script, None)
            if calls is None:
                return ModelResponse([TextPart("done")])
            return ModelResponse([ToolCallPart(name, args, f"call-{next(number)}") for name, args in calls])

        agent = Agent(FunctionModel(respond), capabilities=agent_capabilities(self.environment))
        result = await agent.run("go")
        return [
            Result(str(part.outcome), str(part.content))
            for message in result.all_messages()
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]

    async def call(self, tool: str, **arguments: Any) -> Result:
        """One call, its result."""
        [result] = await self.calls([(tool, arguments)])
        return result


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    made = Bench(workspace, tmp_path / "config" / "permissions.json")
    yield made
    made.environment.kill_children()
