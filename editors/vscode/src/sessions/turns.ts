import type * as vscode from "vscode";
import type { PermissionQuestions } from "../permissions";
import type { AgentConnection } from "../server/agentConnection";
import type { Attachment } from "../shared/chatMessages";
import { type CompactResult, type ContentBlock, Method, type PromptResult, type UndoResult } from "../shared/protocol";
import type { Conversation } from "./conversation";
import { failureOf } from "./failure";

/** What a person does in a session; everything that comes of it is added to the conversation. */
export class Turns {
  constructor(
    private readonly client: AgentConnection,
    private readonly questions: PermissionQuestions,
  ) {}

  /** Sends a prompt; while a turn runs it steers that turn. Never rejects: a failure is part of the conversation. */
  async prompt(
    conversation: Conversation,
    text: string,
    attachments: readonly Attachment[],
    token?: vscode.CancellationToken,
  ): Promise<PromptResult | undefined> {
    const { sessionId } = conversation;
    if (conversation.turnRunning && attachments.length === 0 && (await this.steer(sessionId, text))) {
      conversation.add({ kind: "prompt", text, attachments: [] });
      return undefined;
    }
    conversation.beginTurn(
      text,
      attachments.map(({ label }) => label),
    );
    try {
      const params = { sessionId, prompt: promptOf(text, attachments), whenBusy: "queue" };
      const result = await this.client.request<PromptResult>(Method.prompt, params, token);
      conversation.gauge = result.gauge;
      conversation.endTurn(result.text);
      conversation.add({ kind: "turnEnded", stopReason: result.stopReason });
      return result;
    } catch (error) {
      conversation.failTurn();
      const { kind, ...failure } = failureOf(error);
      conversation.add(
        kind === "cancelled" ? { kind: "turnEnded", stopReason: "cancelled" } : { kind: "failure", ...failure },
      );
      return undefined;
    } finally {
      if (!conversation.turnRunning) this.questions.cancelAll(sessionId);
    }
  }

  /** Stops the turn or the compaction that runs in the session. */
  cancel({ sessionId }: Conversation): void {
    this.questions.cancelAll(sessionId);
    this.client.notify(Method.cancel, { sessionId });
  }

  /** Rejects when the request fails. */
  async compact(conversation: Conversation, focus?: string, token?: vscode.CancellationToken): Promise<CompactResult> {
    const params = { sessionId: conversation.sessionId, ...(focus ? { focus } : {}) };
    const result = await this.client.request<CompactResult>(Method.compact, params, token);
    const compactionId = conversation.lastFullCompaction;
    if (result.outcome === "compacted" && result.summary !== undefined && compactionId !== undefined) {
      conversation.add({ kind: "summary", compactionId, summary: result.summary });
    } else if (result.outcome !== "compacted") {
      conversation.add({ kind: "notice", text: result.message });
    }
    return result;
  }

  /** Rejects when the request fails. */
  async undoCompaction(conversation: Conversation): Promise<UndoResult> {
    const params = { sessionId: conversation.sessionId };
    const result = await this.client.request<UndoResult>(Method.undoCompaction, params);
    conversation.add(
      result.undone ? { kind: "compactionUndone", message: result.message } : { kind: "notice", text: result.message },
    );
    return result;
  }

  private async steer(sessionId: string, prompt: string): Promise<boolean> {
    try {
      return (await this.client.request<{ accepted: boolean }>(Method.steer, { sessionId, prompt })).accepted;
    } catch {
      // Not steered is queued instead, and the prompt says what is wrong if something is.
      return false;
    }
  }
}

/** A plain prompt stays a string, so that a slash command is one; files ride along as links the agent reads. */
export function promptOf(text: string, attachments: readonly Attachment[]): string | ContentBlock[] {
  if (attachments.length === 0) return text;
  return [
    { type: "text", text },
    ...attachments.map(({ uri, label, range }) => ({
      type: "resource_link" as const,
      uri,
      name: label,
      ...(range === undefined ? {} : { range }),
    })),
  ];
}
