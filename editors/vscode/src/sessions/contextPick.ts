import * as vscode from "vscode";
import { percentText, tokensText } from "../shared/numbers";
import type { ContextResult } from "../shared/protocol";

const BAR_CELLS = 12;

/** The breakdown as rows: a bar, tokens and share each; the parts sum to the gauge. */
export function contextRows({ categories, window, total, advice }: ContextResult): vscode.QuickPickItem[] {
  const rows: vscode.QuickPickItem[] = categories
    .filter(({ tokens }) => tokens.count > 0)
    .map(({ label, tokens }) => ({
      label: `${bar(tokens.count, window)} ${label}`,
      description: `${tokensText(tokens)} tokens, ${percentText(tokens.count, window)}`,
    }));
  rows.push({
    label: `${bar(0, window)} Free`,
    description: `${Math.max(0, window - total.count).toLocaleString("en-US")} tokens`,
  });
  if (advice.length > 0) {
    rows.push({ label: "Advice", kind: vscode.QuickPickItemKind.Separator });
    rows.push(...advice.map((label) => ({ label: `$(lightbulb) ${label}` })));
  }
  return rows;
}

function bar(count: number, window: number): string {
  const filled = window > 0 ? Math.min(BAR_CELLS, Math.ceil((BAR_CELLS * count) / window)) : 0;
  return "█".repeat(filled) + "░".repeat(BAR_CELLS - filled);
}

/** Shows the breakdown. Looking at it changes nothing: choosing a row only closes it. */
export function showContext(context: ContextResult): void {
  const pick = vscode.window.createQuickPick();
  const share = percentText(context.total.count, context.window);
  pick.title = `Context: ${tokensText(context.total)} of ${context.window.toLocaleString("en-US")} tokens (${share})`;
  pick.placeholder = "What fills the model's context window";
  pick.items = contextRows(context);
  pick.matchOnDescription = true;
  pick.onDidAccept(() => pick.hide());
  pick.onDidHide(() => pick.dispose());
  pick.show();
}
