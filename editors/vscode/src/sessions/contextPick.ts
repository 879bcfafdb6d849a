import * as vscode from "vscode";
import { percentText, tokensText } from "../shared/numbers";
import type { ContextResult } from "../shared/protocol";

/** The breakdown as rows: a pie, tokens and share each; the parts sum to the gauge. */
export function contextRows({ categories, window, total, advice }: ContextResult): vscode.QuickPickItem[] {
  const free = Math.max(0, window - total.count);
  const rows: vscode.QuickPickItem[] = categories
    .filter(({ tokens }) => tokens.count > 0)
    .map(({ label, tokens }) => ({
      label,
      iconPath: pie(tokens.count, window),
      description: `${tokensText(tokens)} tokens, ${percentText(tokens.count, window)}`,
    }));
  rows.push({
    label: "Free",
    iconPath: pie(free, window),
    description: `${free.toLocaleString("en-US")} tokens, ${percentText(free, window)}`,
  });
  if (advice.length > 0) {
    rows.push({ label: "Advice", kind: vscode.QuickPickItemKind.Separator });
    rows.push(...advice.map((label) => ({ label, iconPath: new vscode.ThemeIcon("lightbulb") })));
  }
  return rows;
}

const SMALLEST_SLICE = 0.04;

/** A slice of a pie as an icon, and not as characters of the row's name: a screen reader would read those out. */
function pie(count: number, window: number): { light: vscode.Uri; dark: vscode.Uri } {
  const share = window > 0 && count > 0 ? Math.min(1, Math.max(SMALLEST_SLICE, count / window)) : 0;
  return { light: drawn(share, "#424242"), dark: drawn(share, "#cccccc") };
}

/** The slice is a dash of a ring that is as thick as its radius is long. */
function drawn(share: number, color: string): vscode.Uri {
  const round = 2 * Math.PI * 3;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="${color}">
<circle cx="8" cy="8" r="7"/>
<circle cx="8" cy="8" r="3" stroke-width="6" stroke-dasharray="${share * round} ${round}" transform="rotate(-90 8 8)"/>
</svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`, true);
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
