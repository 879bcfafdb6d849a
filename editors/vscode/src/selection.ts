import * as vscode from "vscode";
import { relativePath } from "./chat/completions";
import type { Attachment } from "./shared/chatMessages";

/** The selected lines of the active editor, or its whole file when nothing is selected. */
export function selectionAttachment(editor: vscode.TextEditor): Attachment {
  const { document, selection } = editor;
  const folder = vscode.workspace.getWorkspaceFolder(document.uri);
  const name = folder === undefined ? document.uri.fsPath : relativePath(folder, document.uri);
  const uri = document.uri.toString();
  if (selection.isEmpty) return { uri, label: name };
  const { start, end } = selection;
  // A selection that ends before a line's first character does not show that line.
  const lastLine = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  const firstLine = start.line + 1;
  return {
    uri,
    label: `${name}:${firstLine === lastLine ? firstLine : `${firstLine}-${lastLine}`}`,
    range: {
      start: { line: start.line, character: start.character },
      end: { line: end.line, character: end.character },
    },
  };
}

/** `Ask Agent about Selection` in the light bulb menu of a selection. */
export class SelectionActions implements vscode.CodeActionProvider {
  static readonly kind = vscode.CodeActionKind.Refactor.append("askAgent");

  provideCodeActions(_document: vscode.TextDocument, range: vscode.Range): vscode.CodeAction[] {
    if (range.isEmpty) return [];
    const action = new vscode.CodeAction("Ask Agent about Selection", SelectionActions.kind);
    action.command = { command: "agentLs.askAboutSelection", title: action.title };
    return [action];
  }
}
