import * as path from "node:path";
import * as vscode from "vscode";

/** Opens a file the conversation names; a path that is none is said, as models invent them. */
export async function openFile(file: string, line: number | undefined, folder: vscode.WorkspaceFolder): Promise<void> {
  const uri = vscode.Uri.file(path.isAbsolute(file) ? file : path.join(folder.uri.fsPath, file));
  try {
    const position = new vscode.Position(Math.max(0, (line ?? 1) - 1), 0);
    await vscode.window.showTextDocument(uri, { preview: true, selection: new vscode.Range(position, position) });
  } catch {
    void vscode.window.showWarningMessage(`There is no file ${file}.`);
  }
}
