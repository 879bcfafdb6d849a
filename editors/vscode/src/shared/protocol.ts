/** The wire contract's types and names, version 1 (docs/protocol.md; agent_ls/protocol.py is the server's side). */

export const PROTOCOL_VERSION = 1;

export const Method = {
  prompt: "agent/prompt",
  compact: "agent/compact",
  undoCompaction: "agent/undoCompaction",
  steer: "agent/steer",
  cancel: "agent/cancel",
  context: "agent/context",
  sessions: "agent/sessions",
  newSession: "agent/newSession",
  resumeSession: "agent/resumeSession",
  deleteSession: "agent/deleteSession",
  update: "agent/update",
  gauge: "agent/gauge",
  compaction: "agent/compaction",
  requestPermission: "agent/requestPermission",
} as const;

export interface Tokens {
  count: number;
  basis: "measured" | "estimated";
}

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export type ContentBlock =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "resource_link"; uri: string; range?: Range; name?: string }
  | { type: "resource"; resource: { uri: string; text: string; mimeType?: string } };

export type ToolKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";
export type ToolCallStatus = "pending" | "in_progress" | "completed" | "failed";

export interface Diff {
  type: "diff";
  path: string;
  oldText: string | null;
  newText: string;
}

export type ToolCallContent = { type: "content"; content: { type: "text"; text: string } } | Diff;

export interface ToolCall {
  toolCallId: string;
  title: string;
  kind: ToolKind;
  status: ToolCallStatus;
  rawInput: unknown;
  locations: { path: string; line?: number }[];
  content?: ToolCallContent[];
}

export interface AvailableCommand {
  name: string;
  description: string;
  hint?: string;
}

export interface PlanEntry {
  content: string;
  priority: "high" | "medium" | "low";
  status: "pending" | "in_progress" | "completed";
}

export type SessionUpdate =
  | { sessionUpdate: "user_message_chunk"; content: ContentBlock }
  | { sessionUpdate: "agent_message_chunk"; content: ContentBlock }
  | { sessionUpdate: "agent_thought_chunk"; content: ContentBlock }
  | ({ sessionUpdate: "tool_call" } & ToolCall)
  | {
      sessionUpdate: "tool_call_update";
      toolCallId: string;
      status?: ToolCallStatus;
      title?: string;
      content?: ToolCallContent[];
    }
  | { sessionUpdate: "plan"; entries: PlanEntry[] }
  | { sessionUpdate: "available_commands_update"; availableCommands: AvailableCommand[] };

export type Tier = "micro" | "full";
export type Trigger = "turnEnd" | "guard" | "overflow" | "manual";
export type SessionState = "idle" | "running" | "compacting";

export interface Gauge {
  sessionId: string;
  workspace: string;
  used: Tokens;
  window: number;
  fraction: number;
  percent: number;
  glyph: string;
  level: "ok" | "micro" | "full";
  color: "green" | "yellow" | "red";
  tiers: { id: Tier; at: number }[];
  text: string;
  tooltip: string;
  accessibleText: string;
  model: string;
  cost: number | null;
  cacheShare: number | null;
  lastCompaction: { tier: Tier; trigger: Trigger; before: Tokens; after: Tokens; at: string } | null;
  state: SessionState;
  warnings: { id: string; message: string }[];
}

export interface CompactionEvent {
  sessionId: string;
  compactionId: string;
  tier: Tier;
  trigger: Trigger;
  status: "started" | "completed" | "failed" | "cancelled";
  before?: Tokens;
  after?: Tokens;
  partsElided?: number;
  messagesCovered?: number;
  reason?: string;
  summary?: string;
}

export interface UpdateNotification {
  sessionId: string;
  turnId: string;
  seq: number;
  update: SessionUpdate;
}

export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

export interface PromptResult {
  sessionId: string;
  turnId: string;
  stopReason: StopReason;
  text: string;
  gauge: Gauge;
}

export interface CompactResult {
  sessionId: string;
  outcome: "compacted" | "nothingToCompact" | "summarizerFailed" | "busy";
  message: string;
  reason?: string;
  before: Tokens;
  after: Tokens | null;
  summary?: string;
  gauge: Gauge;
}

export interface UndoResult {
  sessionId: string;
  undone: boolean;
  message: string;
  gauge: Gauge;
}

export interface ContextResult {
  sessionId: string;
  total: Tokens;
  window: number;
  categories: { id: string; label: string; tokens: Tokens }[];
  advice: string[];
}

export interface SessionSummary {
  sessionId: string;
  title: string;
  createdAt: string;
  updatedAt: string;
  messages: number;
  active: boolean;
  foreign: boolean;
}

export interface SessionOpened {
  sessionId: string;
  history: SessionUpdate[];
  gauge: Gauge;
}

export interface PermissionOption {
  optionId: string;
  name: string;
  kind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
}

export interface RequestPermissionParams {
  sessionId: string;
  toolCall: ToolCall;
  options: PermissionOption[];
}

export type PermissionOutcome = { outcome: "selected"; optionId: string; reason?: string } | { outcome: "cancelled" };

/** `data` of a RequestFailed error (-32803). */
export interface FailureData {
  kind:
    | "sessionBusy"
    | "sessionNotFound"
    | "sessionLocked"
    | "modelUnavailable"
    | "providerError"
    | "contextTooLarge"
    | "settingsInvalid"
    | "logUnwritable";
  retryable: boolean;
  hint?: string;
}
