import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Attachment, ChatEvent, ChatStatus, FromPage, ToPage } from "../shared/chatMessages";
import { pageHtml } from "./pageHtml";

/** What the page asks for; the extension's wiring answers. */
export interface ChatHost {
  events(): readonly ChatEvent[];
  status(): ChatStatus;
  handle(message: FromPage): Promise<void>;
}

/** The chat in the side bar. The page holds no state of its own but the draft: it is made again from the host's. */
export class ChatView implements vscode.WebviewViewProvider {
  static readonly id = "agentLs.chat";
  private view: vscode.WebviewView | undefined;
  private pageReady = false;
  private waiting: ToPage[] = [];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly host: ChatHost,
  ) {}

  get visible(): boolean {
    return this.view?.visible === true && this.pageReady;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const dist = vscode.Uri.joinPath(this.extension, "dist");
    const resource = (name: string) => view.webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
    this.view = view;
    this.pageReady = false;
    view.webview.options = { enableScripts: true, localResourceRoots: [dist] };
    view.webview.onDidReceiveMessage((message: FromPage) => this.receive(message));
    view.onDidDispose(() => {
      this.view = undefined;
      this.pageReady = false;
    });
    view.webview.html = pageHtml({
      nonce: randomBytes(16).toString("base64url"),
      cspSource: view.webview.cspSource,
      script: resource("chat.js"),
      style: resource("chat.css"),
    });
  }

  /** Opens the view and puts the cursor into the prompt. */
  async focus(): Promise<void> {
    await vscode.commands.executeCommand(`${ChatView.id}.focus`);
    this.postWhenReady({ type: "focus" });
  }

  async attach(attachments: Attachment[]): Promise<void> {
    this.postWhenReady({ type: "attach", attachments });
    await this.focus();
  }

  /** Adds to what the page shows. A page that is not there yet gets everything when it is. */
  post(message: ToPage): void {
    if (this.pageReady) void this.view?.webview.postMessage(message);
  }

  /** The conversation or what surrounds it is another one. */
  reset(): void {
    this.post({ type: "status", status: this.host.status() });
    this.post({ type: "reset", events: [...this.host.events()] });
  }

  private postWhenReady(message: ToPage): void {
    if (this.pageReady) this.post(message);
    else this.waiting.push(message);
  }

  private receive(message: FromPage): void {
    if (message.type !== "ready") {
      void this.host.handle(message);
      return;
    }
    this.pageReady = true;
    this.reset();
    for (const waiting of this.waiting.splice(0)) this.post(waiting);
  }
}
