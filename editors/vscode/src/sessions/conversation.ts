import type { ChatEvent } from "../shared/chatMessages";
import type { CompactionEvent, Gauge, SessionUpdate } from "../shared/protocol";

/**
 * One session as the extension knows it: what happened, so that the chat page can be made again at any time.
 * The page itself may come and go; this stays as long as the window.
 */
export class Conversation {
  private readonly recorded: ChatEvent[] = [];
  private turnsRunning = 0;
  private answered = false;
  gauge: Gauge | undefined;

  constructor(
    readonly sessionId: string,
    /** The URI of the workspace folder. */
    readonly folder: string,
    history: readonly SessionUpdate[],
    private readonly onEvent: (conversation: Conversation, event: ChatEvent) => void,
  ) {
    for (const update of history) this.record({ kind: "update", update });
  }

  get events(): readonly ChatEvent[] {
    return this.recorded;
  }

  get isEmpty(): boolean {
    return this.recorded.length === 0;
  }

  /** Whether a prompt of ours waits for its answer. */
  get turnRunning(): boolean {
    return this.turnsRunning > 0;
  }

  /** The id of the newest full compaction that came through. */
  get lastFullCompaction(): string | undefined {
    const last = this.recorded.findLast(
      (event) => event.kind === "compaction" && event.event.tier === "full" && event.event.status === "completed",
    );
    return last?.kind === "compaction" ? last.event.compactionId : undefined;
  }

  add(event: ChatEvent): void {
    this.record(event);
    this.onEvent(this, event);
  }

  beginTurn(text: string, attachments: string[]): void {
    this.turnsRunning += 1;
    this.answered = false;
    this.add({ kind: "prompt", text, attachments });
  }

  /** `text` is shown if nothing of the answer was streamed, as with slash commands. */
  endTurn(text: string): void {
    if (!this.answered && text !== "") {
      this.add({
        kind: "update",
        update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
      });
    }
    this.turnsRunning -= 1;
  }

  failTurn(): void {
    this.turnsRunning -= 1;
  }

  /** A live update. The server echoes prompts; ours are shown already when they are sent. */
  receive(update: SessionUpdate): void {
    if (update.sessionUpdate === "user_message_chunk") return;
    if (update.sessionUpdate === "agent_message_chunk") this.answered = true;
    this.add({ kind: "update", update });
  }

  receiveCompaction(event: CompactionEvent): void {
    this.add({ kind: "compaction", event });
    if (event.summary !== undefined) {
      this.add({ kind: "summary", compactionId: event.compactionId, summary: event.summary });
    }
  }

  /** No end is told any more of a compaction that was running. */
  serverStopped(): void {
    const last = this.recorded.findLast((event) => event.kind === "compaction");
    if (last?.kind !== "compaction" || last.event.status !== "started") return;
    this.receiveCompaction({ ...last.event, status: "failed", reason: "the agent was stopped." });
  }

  private record(event: ChatEvent): void {
    const last = this.recorded.at(-1);
    const merged = last === undefined ? undefined : mergeChunks(last, event);
    if (merged === undefined) this.recorded.push(event);
    else this.recorded[this.recorded.length - 1] = merged;
  }
}

/** Streamed text is kept as one event, so that making the page again costs what is shown and not how it came. */
function mergeChunks(last: ChatEvent, next: ChatEvent): ChatEvent | undefined {
  if (last.kind !== "update" || next.kind !== "update") return undefined;
  const [before, after] = [last.update, next.update];
  if (before.sessionUpdate !== after.sessionUpdate) return undefined;
  if (before.sessionUpdate !== "agent_message_chunk" && before.sessionUpdate !== "agent_thought_chunk")
    return undefined;
  if (after.sessionUpdate !== "agent_message_chunk" && after.sessionUpdate !== "agent_thought_chunk") return undefined;
  if (before.content.type !== "text" || after.content.type !== "text") return undefined;
  const content = { type: "text", text: before.content.text + after.content.text } as const;
  return { kind: "update", update: { sessionUpdate: before.sessionUpdate, content } };
}
