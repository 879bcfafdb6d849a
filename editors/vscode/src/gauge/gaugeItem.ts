import * as vscode from "vscode";
import { type GaugeInput, present, TOOLTIP_COMMANDS } from "./presentation";

const COMMANDS: Partial<Record<NonNullable<GaugeInput["absence"]>, string>> = {
  untrusted: "agentLs.manageTrust",
  noFolder: "agentLs.openFolder",
  missing: "agentLs.installServer",
  failed: "agentLs.showLog",
};

/** The status bar item. A click shows what fills the window and changes nothing; with a question open it goes to it. */
export class GaugeItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("agentLs.gauge", vscode.StatusBarAlignment.Right, 100);

  constructor() {
    this.item.name = "Agent Context Gauge";
  }

  show(input: GaugeInput): void {
    const { text, accessibleLabel, background, tooltip } = present(input);
    const markdown = new vscode.MarkdownString(tooltip, true);
    markdown.isTrusted = { enabledCommands: TOOLTIP_COMMANDS };
    this.item.text = text;
    this.item.tooltip = markdown;
    this.item.accessibilityInformation = { label: accessibleLabel, role: "button" };
    this.item.backgroundColor =
      background === undefined ? undefined : new vscode.ThemeColor(`statusBarItem.${background}Background`);
    this.item.command = commandOf(input);
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
  }
}

function commandOf({ absence, question }: GaugeInput): string {
  if (absence !== undefined) return COMMANDS[absence] ?? "agentLs.showLog";
  return question === undefined ? "agentLs.context" : "agentLs.openChat";
}
