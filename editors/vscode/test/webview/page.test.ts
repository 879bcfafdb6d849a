import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { rankPaths } from "../../src/chat/ranking";
import type { ChatStatus, Completion, FromPage } from "../../src/shared/chatMessages";
import { typedWord } from "../../webview/completionList";
import { Composer } from "../../webview/composer";
import { ConversationPane } from "../../webview/conversationPane";
import { PromptRecall } from "../../webview/promptRecall";
import { openPage } from "./dom";

let sent: FromPage[];
let composer: Composer;
let pane: ConversationPane;
let input: HTMLTextAreaElement;

const STATUS: ChatStatus = {
  availability: { state: "ready" },
  folder: "app",
  gauge: {
    text: "○ 0%",
    level: "ok",
    state: "idle",
    model: "m",
    percent: 0,
    accessibleText: "Context 0 percent full",
  },
};

beforeEach(() => {
  openPage();
  sent = [];
  const send = (message: FromPage) => sent.push(message);
  pane = new ConversationPane(byId("conversation"), send);
  composer = new Composer(byId("composer"), send, () => {}, new PromptRecall(() => pane.prompts));
  composer.update(STATUS);
  const found = document.querySelector("textarea");
  assert.ok(found);
  input = found;
  input.focus();
});

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  assert.ok(found);
  return found;
}

function type(text: string): void {
  input.value = text;
  input.setSelectionRange(text.length, text.length);
  input.dispatchEvent(new Event("input"));
}

function press(key: string, more: KeyboardEventInit = {}): void {
  input.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
}

const running = (state: "running" | "idle") =>
  composer.update({ ...STATUS, gauge: STATUS.gauge && { ...STATUS.gauge, state } });

test("Enter sends, Shift+Enter does not, and neither does Enter in an input method", () => {
  type("hello");
  press("Enter", { shiftKey: true });
  press("Enter", { isComposing: true });
  assert.deepEqual(sent, []);
  press("Enter");
  assert.deepEqual(sent, [{ type: "send", text: "hello", attachments: [] }]);
  assert.equal(input.value, "");
});

test("Escape stops what runs; the button says what it does", () => {
  running("running");
  const submit = document.querySelector(".submit");
  assert.equal(submit?.getAttribute("aria-label"), "Stop");
  press("Escape");
  assert.deepEqual(sent, [{ type: "stop" }]);
  running("idle");
  press("Escape");
  assert.equal(sent.length, 1);
});

test("@ and / are completed from the keyboard, and the prompt names the chosen row", () => {
  type("look at @ap");
  const asked = sent.at(-1);
  assert.ok(asked?.type === "complete");
  assert.deepEqual([asked.trigger, asked.word], ["@", "ap"]);
  const attachment = { uri: "file:///w/src/app.py", label: "src/app.py" };
  composer.showCompletions(asked.requestId, [
    { insert: "@apple ", label: "apple", detail: "" },
    { insert: "@src/app.py ", label: "app.py", detail: "src", attachment },
  ]);
  press("ArrowDown");
  const row = document.getElementById(input.getAttribute("aria-activedescendant") ?? "");
  assert.equal(row?.getAttribute("aria-selected"), "true");
  press("Tab");
  assert.equal(input.value, "look at @src/app.py ");
  press("Enter");
  assert.deepEqual(sent.at(-1), { type: "send", text: "look at @src/app.py", attachments: [attachment] });
});

test("the prompts of the conversation come back with Up and Down, and what was typed stays", () => {
  pane.reset(["one", "two"].map((text) => ({ kind: "prompt", text, attachments: [] })));
  const shown = ["ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown", "ArrowDown"].map((key) => {
    press(key);
    return input.value;
  });
  assert.deepEqual(shown, ["two", "one", "one", "two", "", ""]);
  type("mine");
  press("ArrowUp");
  assert.equal(input.value, "mine");
});

test("a command that is written in full is sent by the first Enter, a file is still attached by it", () => {
  const complete = (text: string, item: Completion) => {
    type(text);
    const asked = sent.at(-1);
    assert.ok(asked?.type === "complete");
    composer.showCompletions(asked.requestId, [item]);
    press("Enter");
  };
  complete("/comp", { insert: "/compact ", label: "/compact", detail: "" });
  assert.equal(input.value, "/compact ");
  complete("/compact", { insert: "/compact ", label: "/compact", detail: "" });
  assert.deepEqual(sent.at(-1), { type: "send", text: "/compact", attachments: [] });
  const attachment = { uri: "file:///w/a.py", label: "a.py" };
  complete("@a.py", { insert: "@a.py ", label: "a.py", detail: "", attachment });
  press("Enter");
  assert.deepEqual(sent.at(-1), { type: "send", text: "@a.py", attachments: [attachment] });
});

test("completions that come too late are not shown", () => {
  type("/c");
  const asked = sent.at(-1);
  assert.ok(asked?.type === "complete");
  type("/co");
  composer.showCompletions(asked.requestId, [{ insert: "/compact", label: "/compact", detail: "" }]);
  assert.equal(document.getElementById("completions")?.hidden, true);
});

test("a permission is a labelled group of real buttons", () => {
  pane.reset([
    {
      kind: "permission",
      requestId: "p1",
      toolCall: { toolCallId: "c", title: "Run make", kind: "execute", status: "pending", rawInput: {}, locations: [] },
      options: [
        { optionId: "y", name: "Allow once", kind: "allow_once" },
        { optionId: "n", name: "Reject", kind: "reject_once" },
      ],
    },
  ]);
  const group = document.querySelector('[role="group"]');
  assert.equal(group?.getAttribute("aria-label"), "The agent asks: Run make");
  const buttons = [...(group?.querySelectorAll("button") ?? [])];
  assert.deepEqual(
    buttons.map(({ textContent }) => textContent),
    ["Allow once", "Reject"],
  );
  const reason = group?.querySelector("input");
  assert.ok(reason);
  reason.value = "not now";
  buttons[1]?.click();
  assert.deepEqual(sent.at(-1), { type: "answer", requestId: "p1", optionId: "n", reason: "not now" });
});

test("every item of the conversation can be reached and has a name", () => {
  pane.reset([
    { kind: "prompt", text: "hi", attachments: [] },
    { kind: "update", update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hello" } } },
    { kind: "failure", message: "No key.", hint: "Set one.", action: "setApiKey" },
  ]);
  const log = byId("conversation");
  const items = [...log.querySelectorAll<HTMLElement>(":scope > [tabindex]")];
  assert.deepEqual(
    items.map((item) => item.getAttribute("aria-label") ?? item.getAttribute("role")),
    ["You", "Agent", "Error"],
  );
  log.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", altKey: true, bubbles: true }));
  assert.equal(document.activeElement, items[2]);
});

test("the keyboard stays on a compaction's line when its link goes with what it did", () => {
  const before = { count: 9_000, basis: "measured" } as const;
  const event = { sessionId: "s", compactionId: "k", tier: "full", trigger: "manual", status: "completed" } as const;
  pane.reset([{ kind: "compaction", event: { ...event, before, after: { count: 900, basis: "estimated" } } }]);
  const line = document.querySelector<HTMLElement>(".compaction");
  const undo = [...(line?.querySelectorAll("button") ?? [])].find(({ textContent }) => textContent === "Undo");
  undo?.focus();
  assert.equal(document.activeElement, undo);
  pane.apply({ kind: "compactionUndone", message: "Undone." });
  pane.showQuestion(false);
  assert.equal(document.activeElement, line);
});

test("levels are words on the page too", () => {
  composer.update({ ...STATUS, gauge: STATUS.gauge && { ...STATUS.gauge, text: "◕ 81%", level: "full" } });
  assert.equal(document.querySelector(".meter-text")?.textContent, "◕ 81% nearly full");
});

test("a word is completed only where one begins", () => {
  assert.deepEqual(typedWord("/comp", 5), { trigger: "/", word: "comp", start: 0 });
  assert.deepEqual(typedWord("see @src/a", 10), { trigger: "@", word: "src/a", start: 4 });
  assert.equal(typedWord("mail me@home", 12), undefined);
  assert.equal(typedWord("run /usr", 8), undefined);
  assert.equal(typedWord("/usr/bin", 8), undefined);
});

test("files are ranked by name before folder", () => {
  const files = ["src/application/z.py", "src/app.py", "deep/map.py", "other.py"];
  assert.deepEqual(rankPaths(files, "app", 10), ["src/app.py", "src/application/z.py", "deep/map.py"]);
  assert.deepEqual(rankPaths(files, "ap", 1), ["src/app.py"]);
  assert.deepEqual(rankPaths(files, "oth", 10), ["other.py"]);
});
