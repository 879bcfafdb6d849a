import * as path from "node:path";
import * as vscode from "vscode";
import type { Completion } from "../shared/chatMessages";
import type { AvailableCommand } from "../shared/protocol";
import { rankPaths } from "./ranking";

/** Known before a session has said its own (PROTOCOL `agent/prompt`). */
const COMMANDS: readonly AvailableCommand[] = [
  { name: "compact", description: "Summarise the conversation and make room", hint: "what to focus on" },
  { name: "context", description: "Show what fills the context window" },
  { name: "new", description: "Start a new session" },
  { name: "resume", description: "Resume an earlier session" },
  { name: "undo", description: "Take back the last compaction" },
  { name: "help", description: "List these commands" },
];
const MOST_FILES_LOOKED_AT = 20_000;
const MOST_ROWS = 12;

export function commandCompletions(word: string, announced: readonly AvailableCommand[]): Completion[] {
  return (announced.length > 0 ? announced : COMMANDS)
    .filter(({ name }) => name.startsWith(word.toLowerCase()))
    .map(({ name, description, hint }) => ({
      insert: `/${name}${hint ? " " : ""}`,
      label: `/${name}`,
      detail: hint ? `${description} [${hint}]` : description,
    }));
}

/** Files of the folder by name, as the editor's own search finds them (its exclusions and .gitignore count). */
export async function fileCompletions(word: string, folder: vscode.WorkspaceFolder): Promise<Completion[]> {
  const pattern = new vscode.RelativePattern(folder, "**/*");
  const excluded = "**/{node_modules,.git,.venv,__pycache__,.agent_ls}/**";
  const files = await vscode.workspace.findFiles(pattern, excluded, MOST_FILES_LOOKED_AT);
  const byPath = new Map(files.map((uri) => [relativePath(folder, uri), uri]));
  return rankPaths([...byPath.keys()], word, MOST_ROWS).flatMap((file) => {
    const uri = byPath.get(file);
    if (uri === undefined) return [];
    const directory = path.posix.dirname(file);
    return {
      insert: `@${file} `,
      label: path.posix.basename(file),
      detail: directory === "." ? "" : directory,
      attachment: { uri: uri.toString(), label: file },
    };
  });
}

export function relativePath(folder: vscode.WorkspaceFolder, uri: vscode.Uri): string {
  return path.relative(folder.uri.fsPath, uri.fsPath).split(path.sep).join("/");
}
