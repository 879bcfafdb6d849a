/** What the extension host and the chat page say to each other. Plain data only: it crosses `postMessage`. */

import type { CompactionEvent, Gauge, PermissionOption, Range, SessionUpdate, StopReason, ToolCall } from "./protocol";

/** A file, or lines of one, that goes along with a prompt. `label` is what a person reads: `src/app.py:3-9`. */
export interface Attachment {
  uri: string;
  label: string;
  range?: Range;
}

/** One thing that happened in a conversation; replaying them in order makes the conversation again. */
export type ChatEvent =
  | { kind: "prompt"; text: string; attachments: string[] }
  | { kind: "update"; update: SessionUpdate }
  | { kind: "compaction"; event: CompactionEvent }
  | { kind: "summary"; compactionId: string; summary: string }
  | { kind: "compactionUndone"; message: string }
  | { kind: "permission"; requestId: string; toolCall: ToolCall; options: PermissionOption[] }
  | { kind: "permissionAnswered"; requestId: string; answer: string; allowed: boolean }
  | { kind: "turnEnded"; stopReason: StopReason }
  | { kind: "failure"; message: string; hint?: string; action?: FailureAction }
  | { kind: "notice"; text: string };

/** A button beside a failure that does what the hint says. */
export type FailureAction = "setApiKey" | "newSession" | "showLog";

/** Whether there is an agent to talk to, and if not, why. */
export type Availability =
  | { state: "ready" | "starting" | "untrusted" | "noFolder" | "missing" }
  | { state: "failed"; message: string };

/** What surrounds the conversation. */
export interface ChatStatus {
  availability: Availability;
  /** The path of the workspace folder: paths inside it are shown without it. */
  folder: string | null;
  gauge: Pick<Gauge, "text" | "level" | "state" | "model" | "percent" | "accessibleText"> | null;
}

export interface Completion {
  /** What replaces the typed word. */
  insert: string;
  label: string;
  detail: string;
  attachment?: Attachment;
}

export type ToPage =
  | { type: "reset"; events: ChatEvent[] }
  | { type: "event"; event: ChatEvent }
  | { type: "status"; status: ChatStatus }
  | { type: "completions"; requestId: number; items: Completion[] }
  | { type: "attach"; attachments: Attachment[] }
  | { type: "restorePrompt"; text: string }
  | { type: "focus" };

export type ChatCommand =
  | "agentLs.compact"
  | "agentLs.undoCompaction"
  | "agentLs.context"
  | "agentLs.newSession"
  | "agentLs.resumeSession"
  | "agentLs.setApiKey"
  | "agentLs.showLog"
  | "agentLs.installServer"
  | "agentLs.restartServer"
  | "agentLs.manageTrust"
  | "agentLs.openFolder";

export type FromPage =
  | { type: "ready" }
  | { type: "send"; text: string; attachments: Attachment[] }
  | { type: "stop" }
  | { type: "answer"; requestId: string; optionId: string; reason?: string }
  | { type: "complete"; requestId: number; trigger: "/" | "@"; word: string }
  | { type: "openDiff"; path: string; oldText: string | null; newText: string }
  | { type: "openFile"; path: string; line?: number }
  | { type: "copy"; text: string }
  | { type: "command"; command: ChatCommand };
