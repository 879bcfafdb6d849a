"""The wire contract's types and names (PROTOCOL, version 1). No pygls, no I/O.

Python spells fields in snake_case; `agent_ls.wire.converter` alone turns them into camelCase. Two rules hold for
every class here:

- a field without a default is always on the wire, `null` included (a gauge at 0 is sent as 0);
- a field with the default `None` is left off when it is None (the `?` of the contract).

Where the Agent Client Protocol has a word for a thing, the word and its values are used
(https://agentclientprotocol.com/protocol/schema).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NewType

from attrs import frozen

from agent_ls.tokens import Tokens

PROTOCOL_VERSION: Final = 1

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
CompactionId = NewType("CompactionId", str)
ToolCallId = NewType("ToolCallId", str)

# --- methods -----------------------------------------------------------------------------------------------------

PROMPT: Final = "agent/prompt"
COMPACT: Final = "agent/compact"
UNDO_COMPACTION: Final = "agent/undoCompaction"
STEER: Final = "agent/steer"
CANCEL: Final = "agent/cancel"
CONTEXT: Final = "agent/context"
SESSIONS: Final = "agent/sessions"
NEW_SESSION: Final = "agent/newSession"
RESUME_SESSION: Final = "agent/resumeSession"
CLOSE_SESSION: Final = "agent/closeSession"
DELETE_SESSION: Final = "agent/deleteSession"
STATUS: Final = "agent/status"
MEMORY: Final = "agent/memory"

UPDATE: Final = "agent/update"
GAUGE: Final = "agent/gauge"
COMPACTION: Final = "agent/compaction"
REQUEST_PERMISSION: Final = "agent/requestPermission"

CONFIGURATION_SECTION: Final = "agentLs"


def command_of(method: str) -> str:
    """The `workspace/executeCommand` name of an `agent/` request: `agent/compact` -> `agent.compact`."""
    return method.replace("/", ".", 1)


# --- error codes (JSON-RPC 2.0 and LSP 3.17; none of our own) -------------------------------------------------------

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SERVER_NOT_INITIALIZED: Final = -32002
REQUEST_CANCELLED: Final = -32800
REQUEST_FAILED: Final = -32803

# --- content and updates (ACP) --------------------------------------------------------------------------------------


@frozen
class TextContent:
    """Plain text or Markdown."""

    text: str
    type: Literal["text"] = "text"


@frozen
class ImageContent:
    """A picture; `data` is base64."""

    data: str
    mime_type: str
    type: Literal["image"] = "image"


@frozen
class Position:
    """LSP position: zero-based line and UTF-16 character."""

    line: int
    character: int


@frozen
class Range:
    """LSP range, end exclusive."""

    start: Position
    end: Position


@frozen
class ResourceLink:
    """A file the prompt points at, optionally a part of it; the agent reads it itself."""

    uri: str
    range: Range | None = None
    name: str | None = None
    type: Literal["resource_link"] = "resource_link"


@frozen
class EmbeddedText:
    """Text of a resource, carried in the prompt."""

    uri: str
    text: str
    mime_type: str | None = None


@frozen
class EmbeddedResource:
    """A resource whose text comes with the prompt."""

    resource: EmbeddedText
    type: Literal["resource"] = "resource"


ContentBlock = TextContent | ImageContent | ResourceLink | EmbeddedResource

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
ToolCallStatus = Literal["pending", "in_progress", "completed", "failed"]


@frozen
class ToolCallLocation:
    """A file (absolute path) a tool call touches; `line` is one-based where given."""

    path: str
    line: int | None = None


@frozen
class ToolCallText:
    """Text a tool call produced."""

    content: TextContent
    type: Literal["content"] = "content"


@frozen
class ToolCallDiff:
    """A change to one file; `old_text` is None for a new file."""

    path: str
    old_text: str | None
    new_text: str
    type: Literal["diff"] = "diff"


ToolCallContent = ToolCallText | ToolCallDiff


@frozen
class UserMessageChunk:
    """Text the user sent."""

    content: ContentBlock
    session_update: Literal["user_message_chunk"] = "user_message_chunk"


@frozen
class AgentMessageChunk:
    """Text the model answers with, as it streams."""

    content: ContentBlock
    session_update: Literal["agent_message_chunk"] = "agent_message_chunk"


@frozen
class AgentThoughtChunk:
    """The model's visible thinking, as it streams."""

    content: ContentBlock
    session_update: Literal["agent_thought_chunk"] = "agent_thought_chunk"


@frozen
class ToolCall:
    """A tool call begins."""

    tool_call_id: ToolCallId
    title: str
    kind: ToolKind
    status: ToolCallStatus
    raw_input: Any
    locations: Sequence[ToolCallLocation]
    content: Sequence[ToolCallContent] | None = None
    session_update: Literal["tool_call"] = "tool_call"


@frozen
class ToolCallUpdate:
    """What changed about a tool call; absent fields are unchanged."""

    tool_call_id: ToolCallId
    status: ToolCallStatus | None = None
    title: str | None = None
    content: Sequence[ToolCallContent] | None = None
    session_update: Literal["tool_call_update"] = "tool_call_update"


@frozen
class PlanEntry:
    """One step of the plan."""

    content: str
    priority: Literal["high", "medium", "low"]
    status: Literal["pending", "in_progress", "completed"]


@frozen
class Plan:
    """The whole plan; each one replaces the last."""

    entries: Sequence[PlanEntry]
    session_update: Literal["plan"] = "plan"


@frozen
class AvailableCommand:
    """A slash command a prompt may begin with; `name` carries no slash."""

    name: str
    description: str
    hint: str | None = None


@frozen
class AvailableCommandsUpdate:
    """The slash commands this session answers itself."""

    available_commands: Sequence[AvailableCommand]
    session_update: Literal["available_commands_update"] = "available_commands_update"


SessionUpdate = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallUpdate
    | Plan
    | AvailableCommandsUpdate
)

# --- gauge and compaction -------------------------------------------------------------------------------------------

Tier = Literal["micro", "full"]
Trigger = Literal["turnEnd", "guard", "overflow", "manual"]
GaugeLevel = Literal["ok", "micro", "full"]
GaugeColor = Literal["green", "yellow", "red"]
SessionState = Literal["idle", "running", "compacting"]
StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
CompactOutcome = Literal["compacted", "nothingToCompact", "summarizerFailed", "busy"]


@frozen
class TierLevel:
    """The occupancy, in tokens, at which a tier fires."""

    id: Tier
    at: int


@frozen
class LastCompaction:
    """What the last compaction of this session did; `at` is ISO 8601 UTC."""

    tier: Tier
    trigger: Trigger
    before: Tokens
    after: Tokens
    at: str


@frozen
class GaugeWarning:
    """Something the gauge says besides its number, for example that the log is not being saved."""

    id: str
    message: str


@frozen
class Gauge:
    """How full the model's context window is. `cost` in USD for the session, `cache_share` 0..1, None if unknown."""

    session_id: SessionId
    workspace: str
    used: Tokens
    window: int
    fraction: float
    percent: int
    glyph: str
    level: GaugeLevel
    color: GaugeColor
    tiers: Sequence[TierLevel]
    text: str
    tooltip: str
    accessible_text: str
    model: str
    cost: float | None
    cache_share: float | None
    last_compaction: LastCompaction | None
    state: SessionState
    warnings: Sequence[GaugeWarning]


@frozen
class CompactionEvent:
    """`agent/compaction`: a tier started, or how it ended."""

    session_id: SessionId
    compaction_id: CompactionId
    tier: Tier
    trigger: Trigger
    status: Literal["started", "completed", "failed", "cancelled"]
    before: Tokens | None = None
    after: Tokens | None = None
    parts_elided: int | None = None
    messages_covered: int | None = None
    summary: str | None = None
    cost: float | None = None
    reason: str | None = None


@frozen
class UpdateNotification:
    """`agent/update`: `seq` counts up by one per session."""

    session_id: SessionId
    turn_id: TurnId
    seq: int
    update: SessionUpdate


# --- requests, client to server -------------------------------------------------------------------------------------


@frozen
class TextDocumentIdentifier:
    """LSP's, to pick the workspace folder of a document."""

    uri: str


@frozen
class PromptParams:
    """Params of `agent/prompt`."""

    prompt: str | Sequence[ContentBlock]
    workspace: str | None = None
    session_id: SessionId | None = None
    text_document: TextDocumentIdentifier | None = None
    when_busy: Literal["reject", "queue"] | None = None
    work_done_token: int | str | None = None


@frozen
class TurnUsage:
    """What the turn's requests used, summed; for billing, never for the gauge (CASCADE §1)."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    requests: int


@frozen
class PromptResult:
    """Result of `agent/prompt`; `text` is the model's final answer."""

    session_id: SessionId
    turn_id: TurnId
    stop_reason: StopReason
    text: str
    usage: TurnUsage
    gauge: Gauge


@frozen
class CompactParams:
    """Params of `agent/compact`."""

    workspace: str | None = None
    session_id: SessionId | None = None
    text_document: TextDocumentIdentifier | None = None
    focus: str | None = None
    work_done_token: int | str | None = None


@frozen
class CompactResult:
    """Result of `agent/compact`; `after` is None unless something was compacted."""

    session_id: SessionId
    outcome: CompactOutcome
    message: str
    before: Tokens
    after: Tokens | None
    gauge: Gauge
    reason: str | None = None
    summary: str | None = None


@frozen
class SessionParams:
    """Params that only pick a session: undoCompaction, context, newSession, closeSession, sessions, memory."""

    workspace: str | None = None
    session_id: SessionId | None = None
    text_document: TextDocumentIdentifier | None = None


@frozen
class ResumeParams:
    """Params of `agent/resumeSession`; `session_id` may be "latest"."""

    session_id: SessionId
    workspace: str | None = None
    text_document: TextDocumentIdentifier | None = None


@frozen
class DeleteParams:
    """Params of `agent/deleteSession`."""

    session_id: SessionId
    workspace: str | None = None


@frozen
class SteerParams:
    """Params of `agent/steer`."""

    session_id: SessionId
    prompt: str


@frozen
class CancelParams:
    """Params of the notification `agent/cancel`."""

    session_id: SessionId


@frozen
class UndoResult:
    """Result of `agent/undoCompaction`."""

    session_id: SessionId
    undone: bool
    message: str
    gauge: Gauge


@frozen
class SteerResult:
    """Result of `agent/steer`: false when no turn runs."""

    accepted: bool


ContextCategoryId = Literal[
    "instructions", "tools", "memory", "summary", "user", "assistant", "thinking", "toolCalls", "toolResults"
]


@frozen
class ContextCategory:
    """One share of the window."""

    id: ContextCategoryId
    label: str
    tokens: Tokens


@frozen
class InstructionFile:
    """One file whose text is part of the instructions, and how much of it was taken."""

    path: str
    lines: int
    total_lines: int
    bytes: int
    truncated: bool


@frozen
class ContextResult:
    """Result of `agent/context`: the categories sum to `total`, and `total` is the gauge's `used`."""

    session_id: SessionId
    total: Tokens
    window: int
    categories: Sequence[ContextCategory]
    advice: Sequence[str]
    instruction_files: Sequence[InstructionFile]


@frozen
class SessionSummary:
    """One row of `agent/sessions`; times ISO 8601 UTC."""

    session_id: SessionId
    title: str
    created_at: str
    updated_at: str
    messages: int
    active: bool
    foreign: bool
    """Not begun by this user on this machine: `latest` leaves it out."""


@frozen
class SessionsResult:
    """Result of `agent/sessions`, newest first."""

    sessions: Sequence[SessionSummary]


@frozen
class SessionOpened:
    """Result of `agent/newSession` and `agent/resumeSession`: what a client shows."""

    session_id: SessionId
    history: Sequence[SessionUpdate]
    gauge: Gauge


@frozen
class SessionEnded:
    """Result of `agent/closeSession` and `agent/deleteSession`."""

    session_id: SessionId


@frozen
class EffectiveSetting:
    """One setting as it is in force and where it came from; never a secret."""

    name: str
    value: Any
    source: str


@frozen
class StatusResult:
    """Result of `agent/status`; what `agent-ls doctor` shows."""

    version: str
    protocol_version: int
    model: str
    model_available: bool
    model_message: str
    settings: Sequence[EffectiveSetting]
    warnings: Sequence[GaugeWarning]
    sessions: Sequence[SessionSummary]
    log_path: str | None


@frozen
class MemoryResult:
    """Result of `agent/memory`: the file as it is and what of it would be sent."""

    path: str
    content: str
    sent: str
    lines: int
    bytes: int
    truncated: bool


# --- requests, server to client -------------------------------------------------------------------------------------

PermissionOptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]


@frozen
class PermissionOption:
    """One answer a person can give."""

    option_id: str
    name: str
    kind: PermissionOptionKind


@frozen
class RequestPermissionParams:
    """Params of `agent/requestPermission`."""

    session_id: SessionId
    tool_call: ToolCall
    options: Sequence[PermissionOption]


@frozen
class PermissionOutcome:
    """`selected` with the option chosen and an optional reason the model sees, or `cancelled`."""

    outcome: Literal["selected", "cancelled"]
    option_id: str | None = None
    reason: str | None = None


@frozen
class RequestPermissionResult:
    """Result of `agent/requestPermission`."""

    outcome: PermissionOutcome


# --- initialize -----------------------------------------------------------------------------------------------------


@frozen
class ClientAbilities:
    """What the client said in `initializationOptions.agent` or `capabilities.experimental.agent`."""

    protocol_version: int = PROTOCOL_VERSION
    update: bool = True
    gauge: bool = True
    compaction: bool = True
    permission: bool = False


def server_abilities(commands: Sequence[str]) -> Mapping[str, Any]:
    """`capabilities.experimental.agent` as the server announces it."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "commands": list(commands),
        "compact": {"focus": True, "undo": True},
        "sessions": True,
        "steer": True,
    }
