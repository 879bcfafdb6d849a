import * as vscode from "vscode";
import { ConversationHost } from "./chat/chatHost";
import { ChatView } from "./chat/chatView";
import { DiffDocuments } from "./chat/diffDocuments";
import { registerCommands } from "./commands";
import { ActiveFolder } from "./folders";
import { GaugeItem } from "./gauge/gaugeItem";
import { registerParticipant } from "./participant";
import { PermissionQuestions } from "./permissions";
import { SelectionActions } from "./selection";
import { AgentClient } from "./server/agentClient";
import { ApiKeys } from "./server/apiKeys";
import { Lifecycle } from "./server/lifecycle";
import { Conversations } from "./sessions/conversations";
import { Turns } from "./sessions/turns";
import { explicitSettings, serverSettingNames } from "./settings";
import { wire } from "./wiring";

let client: AgentClient | undefined;

/** Puts the parts together. The server starts behind it: activating waits for nothing. */
export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel("Agent", { log: true });
  const settingNames = serverSettingNames(context.extension.packageJSON);
  const questions = new PermissionQuestions();
  client = new AgentClient(
    output,
    () => explicitSettings(settingNames),
    (params) => questions.ask(params),
  );
  const keys = new ApiKeys(context.secrets, context.globalState);
  const conversations = new Conversations(client, context.workspaceState);
  const turns = new Turns(client, questions);
  const folder = new ActiveFolder();
  const diffs = new DiffDocuments();
  const lifecycle = new Lifecycle(client, keys, output, context.globalStorageUri, (newServer) =>
    conversations.openAll(newServer),
  );
  const host = new ConversationHost({
    folder,
    conversations,
    turns,
    questions,
    lifecycle,
    diffs,
    reply: (message) => chat.post(message),
  });
  const chat = new ChatView(context.extensionUri, host);
  const gauge = new GaugeItem();
  const parts = { client, lifecycle, folder, conversations, turns, questions, keys, chat, output };

  context.subscriptions.push(
    output,
    client,
    conversations,
    folder,
    diffs,
    lifecycle,
    gauge,
    wire({ ...parts, host, gauge }),
    registerCommands(parts),
    vscode.window.registerWebviewViewProvider(ChatView.id, chat),
    vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new SelectionActions(), {
      providedCodeActionKinds: [SelectionActions.kind],
    }),
  );
  const participant = registerParticipant(folder, conversations, turns);
  if (participant !== undefined) context.subscriptions.push(participant);
  void lifecycle.start();
}

/** The editor waits for this at most 5 s before it ends the process. */
export function deactivate(): Promise<void> | undefined {
  return client?.stop();
}
