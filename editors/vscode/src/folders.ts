import * as vscode from "vscode";

/** Which workspace folder the person works in: the active editor's, else the last such, else the first. */
export class ActiveFolder implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private last: string | undefined;
  readonly onDidChange = this.emitter.event;

  constructor() {
    this.follow(vscode.window.activeTextEditor);
    this.subscriptions = [
      vscode.window.onDidChangeActiveTextEditor((editor) => this.follow(editor)),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.emitter.fire()),
    ];
  }

  get current(): vscode.WorkspaceFolder | undefined {
    const folders = localFolders();
    return folders.find(({ uri }) => uri.toString() === this.last) ?? folders[0];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.emitter.dispose();
  }

  private follow(editor: vscode.TextEditor | undefined): void {
    const folder = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
    const uri = folder?.uri.toString();
    if (uri === undefined || uri === this.last) return;
    this.last = uri;
    this.emitter.fire();
  }
}

/** The folders on disk: the agent's tools work on files. */
export function localFolders(): readonly vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
}
