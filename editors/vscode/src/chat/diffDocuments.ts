import * as path from "node:path";
import * as vscode from "vscode";

const SCHEME = "agent-ls-diff";
const MOST_KEPT = 40;

/** Shows a change the agent proposes or made in the editor's own diff editor. */
export class DiffDocuments implements vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    provideTextDocumentContent: (uri) => this.texts.get(uri.query) ?? "",
  });
  private count = 0;

  async show(file: string, oldText: string | null, newText: string): Promise<void> {
    const before = this.document(file, oldText ?? "");
    const after = this.document(file, newText);
    const title = `${path.basename(file)} (${oldText === null ? "new file" : "proposed by the agent"})`;
    await vscode.commands.executeCommand("vscode.diff", before, after, title, { preview: true });
  }

  dispose(): void {
    this.registration.dispose();
  }

  private document(file: string, text: string): vscode.Uri {
    const id = String(++this.count);
    this.texts.set(id, text);
    const oldest = this.texts.keys().next().value;
    if (this.texts.size > MOST_KEPT && oldest !== undefined) this.texts.delete(oldest);
    return vscode.Uri.from({ scheme: SCHEME, path: file.startsWith("/") ? file : `/${file}`, query: id });
  }
}
