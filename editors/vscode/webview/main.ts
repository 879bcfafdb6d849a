import "@vscode/codicons/dist/codicon.css";
import "./style.css";
import type { FromPage, ToPage } from "../src/shared/chatMessages";
import { announcementOf } from "./announcements";
import { banner } from "./banner";
import { Composer, type Draft } from "./composer";
import { ConversationPane } from "./conversationPane";

declare function acquireVsCodeApi(): {
  postMessage(message: FromPage): void;
  getState(): Draft | undefined;
  setState(draft: Draft): void;
};

const editor = acquireVsCodeApi();
const send = (message: FromPage) => editor.postMessage(message);
const pane = new ConversationPane(byId("conversation"), send);
const composerRoot = byId("composer");
const announcements = byId("announcements");
const draft = editor.getState();
const composer = new Composer(composerRoot, send, (changed) => editor.setState(changed));
if (draft !== undefined) composer.restore(draft);

window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => receive(data));
send({ type: "ready" });

function receive(message: ToPage): void {
  switch (message.type) {
    case "reset":
      pane.reset(message.events);
      return;
    case "event": {
      pane.apply(message.event);
      const said = announcementOf(message.event, pane.lastAnswer);
      if (said !== undefined) announcements.textContent = said;
      if (message.event.kind === "permission") pane.showQuestion(document.hasFocus() && composer.isEmpty);
      if (message.event.kind === "permissionAnswered" && document.hasFocus()) composer.focus();
      return;
    }
    case "status": {
      composer.update(message.status);
      pane.workspaceFolder = message.status.folder;
      document.querySelector(".banner")?.remove();
      const shown = banner(message.status.availability, send);
      if (shown !== undefined) composerRoot.before(shown);
      return;
    }
    case "completions":
      composer.showCompletions(message.requestId, message.items);
      return;
    case "attach":
      composer.attach(message.attachments);
      return;
    case "restorePrompt":
      composer.restore({ text: message.text, attachments: [] });
      return;
    case "focus":
      if (!composer.isEmpty || !pane.showQuestion(true)) composer.focus();
      return;
  }
}

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}
