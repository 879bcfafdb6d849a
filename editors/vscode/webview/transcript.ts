import type { ChatEvent, FailureAction } from "../src/shared/chatMessages";
import type {
  CompactionEvent,
  ContentBlock,
  PermissionOption,
  PlanEntry,
  SessionUpdate,
  StopReason,
  ToolCall,
  ToolCallContent,
} from "../src/shared/protocol";

export interface Question {
  requestId: string;
  options: PermissionOption[];
  /** What was answered; undefined while it is open. */
  answer?: string;
  allowed?: boolean;
}

export interface UserItem {
  kind: "user";
  text: string;
  attachments: string[];
}
export interface AgentItem {
  kind: "agent" | "thought";
  text: string;
}
export interface ToolItem extends Omit<ToolCall, "kind" | "content"> {
  kind: "tool";
  toolKind: ToolCall["kind"];
  content: ToolCallContent[];
  question?: Question;
}
export interface PlanItem {
  kind: "plan";
  entries: PlanEntry[];
}
export interface CompactionItem extends CompactionEvent {
  kind: "compaction";
  undone: boolean;
}
export interface FailureItem {
  kind: "failure";
  message: string;
  hint?: string;
  action?: FailureAction;
}
export interface NoticeItem {
  kind: "notice";
  text: string;
}

export type Item = { id: number } & (
  | UserItem
  | AgentItem
  | ToolItem
  | PlanItem
  | CompactionItem
  | FailureItem
  | NoticeItem
);

const STOPPED: Record<StopReason, string | undefined> = {
  end_turn: undefined,
  cancelled: "Stopped.",
  max_tokens: "The answer was cut off at the model's output limit.",
  max_turn_requests: "Stopped: the turn has made as many requests as it may.",
  refusal: "The model declined to answer.",
};

/** The conversation as a list of things to show, made from events in order. Knows no page. */
export class Transcript {
  readonly items: Item[] = [];
  private count = 0;

  /** Applies an event; returns the items it made or changed. */
  apply(event: ChatEvent): Item[] {
    switch (event.kind) {
      case "prompt":
        return [this.push({ kind: "user", text: event.text, attachments: event.attachments })];
      case "update":
        return this.update(event.update);
      case "compaction":
        return [this.compaction(event.event)];
      case "summary":
        return this.changeCompaction(event.compactionId, (item) => {
          item.summary = event.summary;
        });
      case "compactionUndone":
        return this.undo(event.message);
      case "permission":
        return [this.question(event.toolCall, { requestId: event.requestId, options: event.options })];
      case "permissionAnswered":
        return this.answer(event.requestId, event.answer, event.allowed);
      case "turnEnded":
        return this.endTurn(STOPPED[event.stopReason]);
      case "failure":
        return [...this.interrupt(), this.push(event)];
      case "notice":
        return [this.push(event)];
    }
  }

  /** The text of the newest answer. */
  get lastAnswer(): string {
    const last = this.items.findLast((item) => item.kind === "agent" || item.kind === "user");
    return last?.kind === "agent" ? last.text : "";
  }

  private update(update: SessionUpdate): Item[] {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return [this.userChunk(update.content)];
      case "agent_message_chunk":
        return this.textChunk("agent", update.content);
      case "agent_thought_chunk":
        return this.textChunk("thought", update.content);
      case "tool_call": {
        const { sessionUpdate: _, ...call } = update;
        return [this.toolCall(call)];
      }
      case "tool_call_update": {
        const item = this.tool(update.toolCallId);
        if (item === undefined) return [];
        if (update.status !== undefined) item.status = update.status;
        if (update.title !== undefined) item.title = update.title;
        if (update.content !== undefined) item.content = withDiffs(item.content, update.content);
        return [item];
      }
      case "plan": {
        const item = this.items.findLast((found) => found.kind === "plan");
        if (item?.kind !== "plan" || this.endsTurn(item)) return [this.push({ kind: "plan", entries: update.entries })];
        item.entries = update.entries;
        return [item];
      }
      case "available_commands_update":
        return [];
    }
  }

  private userChunk(content: ContentBlock): Item {
    const last = this.items.at(-1);
    const item = last?.kind === "user" ? last : this.push({ kind: "user", text: "", attachments: [] });
    if (content.type === "text") item.text = item.text === "" ? content.text : `${item.text}\n${content.text}`;
    else item.attachments.push(attachmentLabel(content));
    return item;
  }

  private textChunk(kind: AgentItem["kind"], content: ContentBlock): Item[] {
    if (content.type !== "text") return [];
    const last = this.items.at(-1);
    if (last?.kind !== kind) return [this.push({ kind, text: content.text })];
    last.text += content.text;
    return [last];
  }

  private toolCall({ kind: toolKind, content = [], ...call }: ToolCall): Item & ToolItem {
    const known = this.tool(call.toolCallId);
    if (known === undefined) return this.push({ ...call, kind: "tool", toolKind, content });
    return Object.assign(known, call, { toolKind, content: content.length > 0 ? content : known.content });
  }

  private question(call: ToolCall, question: Question): Item {
    const item = this.toolCall(call);
    item.question = question;
    return item;
  }

  private answer(requestId: string, answer: string, allowed: boolean): Item[] {
    const item = this.items.findLast((found) => found.kind === "tool" && found.question?.requestId === requestId);
    if (item?.kind !== "tool" || item.question === undefined) return [];
    item.question = { ...item.question, answer, allowed };
    return [item];
  }

  private compaction(event: CompactionEvent): Item {
    const [known] = this.changeCompaction(event.compactionId, (item) => Object.assign(item, event));
    return known ?? this.push({ ...event, kind: "compaction", undone: false });
  }

  private changeCompaction(compactionId: string, change: (item: CompactionItem) => void): Item[] {
    const item = this.items.findLast((found) => found.kind === "compaction" && found.compactionId === compactionId);
    if (item?.kind !== "compaction") return [];
    change(item);
    return [item];
  }

  private undo(message: string): Item[] {
    const item = this.items.findLast(
      (found) => found.kind === "compaction" && found.tier === "full" && found.status === "completed" && !found.undone,
    );
    const notice = this.push({ kind: "notice", text: message });
    if (item?.kind !== "compaction") return [notice];
    item.undone = true;
    return [item, notice];
  }

  private endTurn(text: string | undefined): Item[] {
    const interrupted = this.interrupt();
    return text === undefined ? interrupted : [...interrupted, this.push({ kind: "notice", text })];
  }

  /** No call of a turn that is over runs any more. */
  private interrupt(): Item[] {
    const running = this.items.filter(
      (item) => item.kind === "tool" && (item.status === "pending" || item.status === "in_progress"),
    );
    for (const item of running) if (item.kind === "tool") item.status = "failed";
    return running;
  }

  /** Whether a prompt came after `item`: what belongs to an earlier turn is not changed any more. */
  private endsTurn(item: Item): boolean {
    return this.items.findLastIndex(({ kind }) => kind === "user") > this.items.indexOf(item);
  }

  private tool(toolCallId: string): (Item & ToolItem) | undefined {
    const item = this.items.findLast((found) => found.kind === "tool" && found.toolCallId === toolCallId);
    return item?.kind === "tool" ? item : undefined;
  }

  private push<Made extends Item extends infer I ? (I extends Item ? Omit<I, "id"> : never) : never>(
    made: Made,
  ): { id: number } & Made {
    const item = { ...made, id: ++this.count };
    this.items.push(item as unknown as Item);
    return item;
  }
}

/** A result does not take away the diff that was shown before it: a person wants to see what was changed. */
function withDiffs(before: ToolCallContent[], after: ToolCallContent[]): ToolCallContent[] {
  return after.some(({ type }) => type === "diff")
    ? after
    : [...before.filter(({ type }) => type === "diff"), ...after];
}

function attachmentLabel(content: Exclude<ContentBlock, { type: "text" }>): string {
  switch (content.type) {
    case "image":
      return "picture";
    case "resource_link":
      return content.name ?? content.uri;
    case "resource":
      return content.resource.uri;
  }
}
