import "@vscode/codicons/dist/codicon.css";
import "./style.css";
import type { Availability, FromPage, ToPage } from "../src/shared/chatMessages";
import { announce, announcementOf } from "./announcements";
import { banner } from "./banner";
import { Composer, type Draft } from "./composer";
import { ConversationPane } from "./conversationPane";
import { PromptRecall } from "./promptRecall";

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
const composer = new Composer(
  composerRoot,
  send,
  (changed) => editor.setState(changed),
  new PromptRecall(() => pane.prompts),
);
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
      if (said !== undefined) announce(announcements, said);
      if (message.event.kind === "permission") pane.showQuestion(document.hasFocus() && composer.isEmpty);
      if (message.event.kind === "permissionAnswered" && document.hasFocus()) composer.focus();
      return;
    }
    case "status": {
      composer.update(message.status);
      pane.workspaceFolder = message.status.folder;
      showBanner(message.status.availability);
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

/** Made anew only when it says something else: it is announced, and its button may have the focus. */
function showBanner(availability: Availability): void {
  const known = document.querySelector(".banner");
  const shown = banner(availability, send);
  if (known?.textContent === shown?.textContent) return;
  known?.remove();
  if (shown !== undefined) composerRoot.before(shown);
}

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}
