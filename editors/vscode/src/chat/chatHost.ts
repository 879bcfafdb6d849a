import * as vscode from "vscode";
import type { ActiveFolder } from "../folders";
import type { PermissionQuestions } from "../permissions";
import type { Lifecycle } from "../server/lifecycle";
import type { Conversation } from "../sessions/conversation";
import type { Conversations } from "../sessions/conversations";
import type { Turns } from "../sessions/turns";
import type { Attachment, ChatEvent, ChatStatus, Completion, FromPage, ToPage } from "../shared/chatMessages";
import type { Gauge } from "../shared/protocol";
import type { ChatHost } from "./chatView";
import { commandCompletions, fileCompletions } from "./completions";
import type { DiffDocuments } from "./diffDocuments";
import { openFile } from "./openFile";

/** Slash commands that are also commands of the editor, with a picker or a progress of their own. */
const EDITOR_COMMANDS: Record<string, string> = {
  "/new": "agentLs.newSession",
  "/resume": "agentLs.resumeSession",
  "/undo": "agentLs.undoCompaction",
};

export interface ChatHostParts {
  folder: ActiveFolder;
  conversations: Conversations;
  turns: Turns;
  questions: PermissionQuestions;
  lifecycle: Lifecycle;
  diffs: DiffDocuments;
  reply(message: ToPage): void;
}

/** Answers the chat page for the conversation of the active folder. */
export class ConversationHost implements ChatHost {
  constructor(private readonly parts: ChatHostParts) {}

  get conversation(): Conversation | undefined {
    return this.parts.conversations.of(this.parts.folder.current?.uri.toString());
  }

  events(): readonly ChatEvent[] {
    return this.conversation?.events ?? [];
  }

  status(): ChatStatus {
    const gauge = this.conversation?.gauge;
    const { availability } = this.parts.lifecycle;
    return {
      availability,
      folder: this.parts.folder.current?.uri.fsPath ?? null,
      gauge: gauge === undefined ? null : shownOf(gauge),
    };
  }

  async handle(message: FromPage): Promise<void> {
    const { folder, turns, questions, diffs, reply } = this.parts;
    switch (message.type) {
      case "ready":
        return;
      case "send":
        return this.send(message.text, message.attachments);
      case "stop":
        if (this.conversation) turns.cancel(this.conversation);
        return;
      case "answer":
        questions.answer(message.requestId, message.optionId, message.reason);
        return;
      case "complete": {
        const items = await this.complete(message.trigger, message.word);
        return reply({ type: "completions", requestId: message.requestId, items });
      }
      case "openDiff":
        return diffs.show(message.path, message.oldText, message.newText);
      case "openFile":
        if (folder.current) await openFile(message.path, message.line, folder.current);
        return;
      case "copy":
        await vscode.env.clipboard.writeText(message.text);
        return;
      case "command":
        await vscode.commands.executeCommand(message.command);
        return;
    }
  }

  private async send(text: string, attachments: readonly Attachment[]): Promise<void> {
    const [word = "", ...rest] = text.trim().split(/\s+/);
    if (word === "/compact") {
      await vscode.commands.executeCommand("agentLs.compact", rest.join(" "));
      return;
    }
    const command = EDITOR_COMMANDS[word];
    if (command !== undefined && rest.length === 0) {
      await vscode.commands.executeCommand(command);
      return;
    }
    if (this.conversation === undefined) {
      this.parts.reply({ type: "restorePrompt", text });
      return;
    }
    await this.parts.turns.prompt(this.conversation, text, attachments);
  }

  private async complete(trigger: "/" | "@", word: string): Promise<Completion[]> {
    if (trigger === "/") return commandCompletions(word, this.parts.conversations.commands);
    const folder = this.parts.folder.current;
    return folder === undefined ? [] : fileCompletions(word, folder);
  }
}

function shownOf({ text, level, state, model, percent, accessibleText }: Gauge): NonNullable<ChatStatus["gauge"]> {
  return { text, level, state, model, percent, accessibleText };
}
