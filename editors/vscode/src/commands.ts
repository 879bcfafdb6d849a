import * as vscode from "vscode";
import type { ChatView } from "./chat/chatView";
import type { ActiveFolder } from "./folders";
import { pickPermission } from "./permissionPick";
import type { PermissionQuestions } from "./permissions";
import { selectionAttachment } from "./selection";
import type { AgentClient } from "./server/agentClient";
import type { ApiKeys } from "./server/apiKeys";
import type { Lifecycle } from "./server/lifecycle";
import { showContext } from "./sessions/contextPick";
import type { Conversation } from "./sessions/conversation";
import type { Conversations } from "./sessions/conversations";
import { failureOf } from "./sessions/failure";
import { pickSession } from "./sessions/sessionPick";
import type { Turns } from "./sessions/turns";
import { tokensText } from "./shared/numbers";
import { type ContextResult, Method, type SessionSummary } from "./shared/protocol";

export interface CommandParts {
  client: AgentClient;
  lifecycle: Lifecycle;
  folder: ActiveFolder;
  conversations: Conversations;
  turns: Turns;
  questions: PermissionQuestions;
  keys: ApiKeys;
  chat: ChatView;
  output: vscode.LogOutputChannel;
}

/** The commands of the palette, the menus and the gauge's tooltip. */
export function registerCommands(parts: CommandParts): vscode.Disposable {
  const { client, lifecycle, folder, conversations, turns, questions, keys, chat, output } = parts;

  const current = (): Conversation => {
    const conversation = conversations.of(folder.current?.uri.toString());
    if (conversation === undefined) throw new Error(unavailableText(lifecycle));
    return conversation;
  };
  const sessions = async (): Promise<SessionSummary[]> => {
    const workspace = folder.current?.uri.toString();
    const { sessions: all } = await client.request<{ sessions: SessionSummary[] }>(Method.sessions, { workspace });
    return all.filter(({ messages }) => messages > 0);
  };

  const handlers: Record<string, (argument?: unknown) => unknown> = {
    openChat: () => chat.focus(),
    prompt: async () => {
      const conversation = current();
      const text = await vscode.window.showInputBox({ title: "Agent: Prompt", placeHolder: "What should be done?" });
      if (!text?.trim()) return;
      await chat.focus();
      void turns.prompt(conversation, text, []);
    },
    compact: (focus) => compact(current(), turns, typeof focus === "string" ? focus : undefined),
    compactWithFocus: async () => {
      const conversation = current();
      const focus = await vscode.window.showInputBox({
        title: "Agent: /compact",
        prompt: "What should the summary keep above all? Leave empty for everything.",
      });
      if (focus !== undefined) await compact(conversation, turns, focus.trim());
    },
    undoCompaction: async () => {
      const { message } = await turns.undoCompaction(current());
      vscode.window.setStatusBarMessage(message, 5000);
    },
    context: async () => {
      const { sessionId } = current();
      showContext(await client.request<ContextResult>(Method.context, { sessionId }));
    },
    newSession: async () => {
      await conversations.startNew(current().folder);
      await chat.focus();
    },
    resumeSession: async () => {
      const { folder: where } = current();
      const chosen = await pickSession(await sessions(), "Agent: Resume Session");
      if (chosen === undefined) return;
      await conversations.resume(where, chosen.sessionId);
      await chat.focus();
    },
    deleteSession: async () => {
      const { folder: where, sessionId } = current();
      const chosen = await pickSession(await sessions(), "Agent: Delete Session");
      if (chosen === undefined) return;
      const question = `Delete the session “${chosen.title}”? This cannot be undone.`;
      if ((await vscode.window.showWarningMessage(question, { modal: true }, "Delete")) === undefined) return;
      await client.request(Method.deleteSession, { workspace: where, sessionId: chosen.sessionId });
      if (chosen.sessionId === sessionId) await conversations.startNew(where);
    },
    cancel: () => turns.cancel(current()),
    answerPermission: async () => {
      const question = questions.oldest();
      if (question === undefined) void vscode.window.showInformationMessage("The agent is not asking anything.");
      else await pickPermission(question, questions, () => void chat.focus());
    },
    askAboutSelection: async () => {
      const editor = vscode.window.activeTextEditor;
      if (editor !== undefined) await chat.attach([selectionAttachment(editor)]);
    },
    restartServer: () => lifecycle.start(),
    installServer: () => lifecycle.offerInstallation(),
    setApiKey: async () => {
      if (await keys.ask()) await lifecycle.start();
    },
    showLog: () => output.show(),
    manageTrust: () => vscode.commands.executeCommand("workbench.trust.manage"),
    openFolder: () => vscode.commands.executeCommand("vscode.openFolder"),
  };

  return vscode.Disposable.from(
    ...Object.entries(handlers).map(([name, handler]) =>
      vscode.commands.registerCommand(`agentLs.${name}`, (argument?: unknown) => guarded(handler, argument)),
    ),
  );
}

async function compact(conversation: Conversation, turns: Turns, focus: string | undefined): Promise<void> {
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: "Agent: compacting", cancellable: true },
    async (_progress, token) => {
      const { outcome, message, before, after } = await turns.compact(conversation, focus, token);
      const said = after === null ? message : `Compacted: ${tokensText(before)} → ${tokensText(after)} tokens`;
      if (outcome === "summarizerFailed") void vscode.window.showWarningMessage(message);
      else vscode.window.setStatusBarMessage(said, 8000);
    },
  );
}

/** A command that fails says why in one message; what a person cancelled says nothing. */
async function guarded(handler: (argument?: unknown) => unknown, argument: unknown): Promise<void> {
  try {
    await handler(argument);
  } catch (error) {
    const { kind, message, hint } = failureOf(error);
    if (kind === "cancelled") return;
    const text = hint === undefined ? message : `${message} ${hint}`;
    const action = kind === "modelUnavailable" ? "Set API Key…" : "Show Log";
    if ((await vscode.window.showErrorMessage(text, action)) === undefined) return;
    await vscode.commands.executeCommand(kind === "modelUnavailable" ? "agentLs.setApiKey" : "agentLs.showLog");
  }
}

function unavailableText({ availability }: Lifecycle): string {
  switch (availability.state) {
    case "untrusted":
      return "The agent is off until you trust this workspace.";
    case "noFolder":
      return "Open a folder first: the agent works in one.";
    case "missing":
      return "The agent-ls server is not installed.";
    case "failed":
      return availability.message;
    default:
      return "The agent is still starting.";
  }
}
