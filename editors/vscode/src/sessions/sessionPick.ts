import * as vscode from "vscode";
import type { SessionSummary } from "../shared/protocol";

/** Lets a person choose one of the sessions; undefined when there is none or none was chosen. */
export async function pickSession(
  sessions: readonly SessionSummary[],
  title: string,
): Promise<SessionSummary | undefined> {
  if (sessions.length === 0) {
    void vscode.window.showInformationMessage("There is no earlier session in this folder.");
    return undefined;
  }
  const rows = sessions.map((session) => ({
    label: session.title || "Untitled",
    description: `${session.messages} messages${session.active ? ", open now" : ""}`,
    detail: `last used ${whenText(session.updatedAt, new Date())}${session.foreign ? ", begun elsewhere" : ""}`,
    session,
  }));
  return (await vscode.window.showQuickPick(rows, { title, matchOnDescription: true }))?.session;
}

/** `12 minutes ago`, or the date when that is longer than a month. */
export function whenText(at: string, now: Date): string {
  const seconds = Math.max(0, (now.getTime() - new Date(at).getTime()) / 1000);
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  if (seconds < 60) return "just now";
  if (seconds < 3600) return format.format(-Math.floor(seconds / 60), "minute");
  if (seconds < 86_400) return format.format(-Math.floor(seconds / 3600), "hour");
  if (seconds < 30 * 86_400) return format.format(-Math.floor(seconds / 86_400), "day");
  return at.slice(0, 10);
}
