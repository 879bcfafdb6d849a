import * as vscode from "vscode";
import { localFolders } from "../folders";
import type { AgentConnection } from "../server/agentConnection";
import type { ChatEvent } from "../shared/chatMessages";
import { type AvailableCommand, Method, type SessionOpened } from "../shared/protocol";
import { Conversation } from "./conversation";
import { failureOf } from "./failure";

const REMEMBERED = "agentLs.sessions";

export interface ConversationEvent {
  conversation: Conversation;
  event: ChatEvent;
}

/** The session of each workspace folder. Which one it was is remembered, so that a reload goes on with it. */
export class Conversations implements vscode.Disposable {
  private readonly byFolder = new Map<string, Conversation>();
  private readonly eventEmitter = new vscode.EventEmitter<ConversationEvent>();
  private readonly changeEmitter = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  /** The slash commands the server knows. */
  commands: readonly AvailableCommand[] = [];
  readonly onEvent = this.eventEmitter.event;
  /** A gauge changed, or a folder has another session. */
  readonly onDidChange = this.changeEmitter.event;

  constructor(
    private readonly client: AgentConnection,
    private readonly memory: vscode.Memento,
  ) {
    this.subscriptions = [
      client.onUpdate(({ sessionId, update }) => {
        // Said before the answer that names a new session; the same for all of them.
        if (update.sessionUpdate === "available_commands_update") this.commands = update.availableCommands;
        else this.bySession(sessionId)?.receive(update);
      }),
      client.onCompaction((event) => this.bySession(event.sessionId)?.receiveCompaction(event)),
      client.onGauge((gauge) => {
        const conversation = this.bySession(gauge.sessionId);
        if (conversation === undefined) return;
        conversation.gauge = gauge;
        this.changeEmitter.fire();
      }),
      client.onStopped(() => {
        for (const conversation of this.byFolder.values()) conversation.serverStopped();
      }),
    ];
  }

  of(folder: string | undefined): Conversation | undefined {
    return folder === undefined ? undefined : this.byFolder.get(folder);
  }

  bySession(sessionId: string): Conversation | undefined {
    return [...this.byFolder.values()].find((conversation) => conversation.sessionId === sessionId);
  }

  /** Every folder goes on with its session, or gets a new one. The server that has them open is left alone. */
  async openAll(newServer: boolean): Promise<void> {
    for (const { uri } of localFolders()) {
      if (newServer || !this.byFolder.has(uri.toString())) await this.open(uri.toString());
    }
    const open = new Set(localFolders().map(({ uri }) => uri.toString()));
    for (const folder of this.byFolder.keys()) if (!open.has(folder)) this.byFolder.delete(folder);
  }

  async startNew(folder: string): Promise<Conversation> {
    return this.adopt(folder, await this.client.request(Method.newSession, { workspace: folder }));
  }

  async resume(folder: string, sessionId: string): Promise<Conversation> {
    return this.adopt(folder, await this.client.request(Method.resumeSession, { workspace: folder, sessionId }));
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.eventEmitter.dispose();
    this.changeEmitter.dispose();
  }

  private async open(folder: string): Promise<void> {
    const sessionId = this.byFolder.get(folder)?.sessionId ?? this.remembered()[folder];
    if (sessionId === undefined) {
      await this.startNew(folder);
      return;
    }
    try {
      await this.resume(folder, sessionId);
    } catch (error) {
      const failure = failureOf(error);
      const conversation = await this.startNew(folder);
      // A session without a prompt left no log: nothing is missing then.
      if (failure.kind !== "sessionNotFound") {
        conversation.add({ kind: "notice", text: `The last session was not resumed: ${failure.message}` });
      }
    }
  }

  private adopt(folder: string, { sessionId, history, gauge }: SessionOpened): Conversation {
    // After a restart of the server the window still knows more than the log: failures, what was compacted.
    const known = this.bySession(sessionId);
    const conversation =
      known ??
      new Conversation(sessionId, folder, history, (of, event) => this.eventEmitter.fire({ conversation: of, event }));
    conversation.gauge = gauge;
    this.byFolder.set(folder, conversation);
    void this.memory.update(REMEMBERED, { ...this.remembered(), [folder]: sessionId });
    this.changeEmitter.fire();
    return conversation;
  }

  private remembered(): Record<string, string> {
    return this.memory.get<Record<string, string>>(REMEMBERED, {});
  }
}
