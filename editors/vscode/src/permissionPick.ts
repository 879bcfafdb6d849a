import * as vscode from "vscode";
import type { PermissionQuestion, PermissionQuestions } from "./permissions";
import { isRejection } from "./permissions";

const REVIEW = "review";

/**
 * Asks with a quick pick, for when the chat is not on the screen. Its first row only opens the chat: a person who is
 * typing when it appears must not allow anything by accident. Closing it leaves the question open.
 */
export async function pickPermission(
  question: PermissionQuestion,
  questions: PermissionQuestions,
  openChat: () => void,
): Promise<void> {
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { id: string }>();
  pick.title = `Agent asks: ${question.toolCall.title}`;
  pick.placeholder = "Nothing is done until you answer";
  pick.ignoreFocusOut = true;
  pick.items = [
    { id: REVIEW, label: "$(comment-discussion) Review in Chat", description: "shows what would be done" },
    ...question.options.map((option) => ({
      id: option.optionId,
      label: `${isRejection(option) ? "$(circle-slash)" : "$(check)"} ${option.name}`,
    })),
  ];
  const stopListening = questions.listen({
    asked: () => {},
    settled: ({ requestId }) => {
      if (requestId === question.requestId) pick.hide();
    },
  });
  pick.onDidAccept(() => {
    const id = pick.selectedItems[0]?.id;
    pick.hide();
    if (id === REVIEW) openChat();
    else if (id !== undefined) questions.answer(question.requestId, id);
  });
  await new Promise<void>((resolve) => {
    pick.onDidHide(() => resolve());
    pick.show();
  });
  stopListening();
  pick.dispose();
}
