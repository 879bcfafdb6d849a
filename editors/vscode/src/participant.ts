import * as vscode from "vscode";
import type { ActiveFolder } from "./folders";
import type { Conversations } from "./sessions/conversations";
import type { Turns } from "./sessions/turns";
import { tokensText } from "./shared/numbers";

/** `@agentls` in the editor's own chat, where there is one. Nothing else depends on it. */
export function registerParticipant(
  folder: ActiveFolder,
  conversations: Conversations,
  turns: Turns,
  // Forks and older versions come without the Chat API, whatever their types say.
  chat: Partial<typeof vscode.chat> | undefined = vscode.chat,
): vscode.Disposable | undefined {
  if (chat?.createChatParticipant === undefined) return undefined;
  const participant = chat.createChatParticipant("agentLs.participant", async (request, _context, stream, token) => {
    const conversation = conversations.of(folder.current?.uri.toString());
    if (conversation === undefined) {
      stream.markdown("The agent is not running in this workspace.");
      stream.button({ command: "agentLs.openChat", title: "Open Agent" });
      return {};
    }
    if (request.command === "compact") {
      const { message, before, after } = await turns.compact(conversation, request.prompt || undefined, token);
      stream.markdown(after === null ? message : `Compacted: ${tokensText(before)} → ${tokensText(after)} tokens.`);
      return {};
    }
    const listening = conversations.onEvent(({ conversation: of, event }) => {
      if (of !== conversation) return;
      if (event.kind === "failure") stream.markdown(`**${event.message}** ${event.hint ?? ""}`);
      if (event.kind !== "update") return;
      const { update } = event;
      if (update.sessionUpdate === "tool_call") stream.progress(update.title);
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
        stream.markdown(update.content.text);
      }
    });
    try {
      await turns.prompt(conversation, request.prompt, [], token);
    } finally {
      listening.dispose();
    }
    return {};
  });
  participant.iconPath = new vscode.ThemeIcon("agent");
  return participant;
}
