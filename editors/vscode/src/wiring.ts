import * as vscode from "vscode";
import type { ConversationHost } from "./chat/chatHost";
import type { ChatView } from "./chat/chatView";
import type { ActiveFolder } from "./folders";
import { localFolders } from "./folders";
import type { GaugeItem } from "./gauge/gaugeItem";
import type { Absence } from "./gauge/presentation";
import { pickPermission } from "./permissionPick";
import { isRejection, type PermissionQuestions } from "./permissions";
import type { AgentClient } from "./server/agentClient";
import type { Lifecycle } from "./server/lifecycle";
import type { Conversations } from "./sessions/conversations";

export interface WiredParts {
  client: AgentClient;
  lifecycle: Lifecycle;
  folder: ActiveFolder;
  conversations: Conversations;
  questions: PermissionQuestions;
  chat: ChatView;
  host: ConversationHost;
  gauge: GaugeItem;
}

/** Who hears of what: the gauge and the chat follow the server, the active folder and open questions. */
export function wire(parts: WiredParts): vscode.Disposable {
  const { client, lifecycle, folder, conversations, questions, chat, host, gauge } = parts;
  let shown: string | undefined;

  const refresh = () => {
    const conversation = host.conversation;
    const current = conversation?.sessionId;
    gauge.show({
      gauge: conversation?.gauge,
      absence: absenceOf(lifecycle),
      question: current === undefined ? undefined : questions.oldest(current)?.toolCall.title,
      folderName: localFolders().length > 1 ? folder.current?.name : undefined,
    });
    const { state } = lifecycle.availability;
    void vscode.commands.executeCommand("setContext", "agentLs.ready", state === "ready");
    void vscode.commands.executeCommand(
      "setContext",
      "agentLs.busy",
      (conversation?.gauge?.state ?? "idle") !== "idle",
    );
    if (shown !== current) chat.reset();
    else chat.post({ type: "status", status: host.status() });
    shown = current;
  };

  const stopListening = questions.listen({
    asked: (question) => {
      const { sessionId, requestId, toolCall, options } = question;
      conversations.bySession(sessionId)?.add({ kind: "permission", requestId, toolCall, options });
      refresh();
      const inSight = chat.visible && host.conversation?.sessionId === sessionId;
      if (!inSight) void pickPermission(question, questions, () => void chat.focus());
    },
    settled: ({ sessionId, requestId }, option, reason) => {
      const answer = [option?.name ?? "Not answered", reason].filter(Boolean).join(": ");
      const allowed = option !== undefined && !isRejection(option);
      conversations.bySession(sessionId)?.add({ kind: "permissionAnswered", requestId, answer, allowed });
      refresh();
    },
  });

  refresh();
  return vscode.Disposable.from(
    lifecycle.onDidChange(refresh),
    folder.onDidChange(refresh),
    conversations.onDidChange(refresh),
    conversations.onEvent(({ conversation, event }) => {
      if (conversation === host.conversation) chat.post({ type: "event", event });
    }),
    client.onStopped(() => questions.cancelAll()),
    { dispose: stopListening },
  );
}

function absenceOf({ availability: { state } }: Lifecycle): Absence | undefined {
  return state === "ready" ? undefined : state;
}
