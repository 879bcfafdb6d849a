import type { Diff, ToolKind } from "../src/shared/protocol";
import { diffLines } from "./diffLines";
import { button, element, hiddenText, icon, linkButton } from "./elements";
import type { Page, Send } from "./page";
import type { Question, ToolItem } from "./transcript";

const ICONS: Record<ToolKind, string> = {
  read: "file",
  edit: "edit",
  delete: "trash",
  move: "file-symlink-file",
  search: "search",
  execute: "terminal",
  think: "lightbulb",
  fetch: "globe",
  other: "tools",
};
const STATES = {
  pending: ["circle-outline", "waiting"],
  in_progress: ["loading codicon-modifier-spin", "running"],
  completed: ["check", "done"],
  failed: ["error", "failed"],
} as const;

/** A tool call: one line that opens to what went in and came out, and the question to a person while there is one. */
export class ToolView {
  readonly element = element("article", { class: "tool", tabindex: "-1" });
  private readonly details = element("details");
  private readonly summary = element("summary");
  private readonly body = element("div", { class: "tool-body" });
  private readonly questionPlace = element("div");
  private item: ToolItem | undefined;
  private shownQuestion: Question | undefined;

  constructor(private readonly page: Page) {
    this.details.append(this.summary, this.body);
    this.details.addEventListener("toggle", () => this.renderBody());
    this.element.append(this.details, this.questionPlace);
  }

  update(item: ToolItem): void {
    this.item = item;
    const [stateIcon, stateWord] = STATES[item.status];
    const waits = item.question !== undefined && item.question.answer === undefined;
    this.element.setAttribute("aria-label", `Tool call, ${waits ? "waits for your answer" : stateWord}: ${item.title}`);
    this.element.dataset.status = item.status;
    const count = diffCount(item);
    this.summary.replaceChildren(
      icon(ICONS[item.toolKind] ?? "tools"),
      element("span", { class: "tool-title" }, item.title),
      ...(count === undefined ? [] : [count]),
      icon(waits ? "question" : stateIcon, "tool-state"),
      hiddenText(waits ? "waits for your answer" : stateWord),
    );
    this.renderBody();
    this.renderQuestion(item);
  }

  private renderQuestion(item: ToolItem): void {
    const { question } = item;
    if (question === this.shownQuestion) return;
    this.shownQuestion = question;
    if (question === undefined) {
      this.questionPlace.replaceChildren();
      return;
    }
    if (question.answer !== undefined) {
      const mark = icon(question.allowed ? "check" : "circle-slash");
      this.questionPlace.replaceChildren(element("p", { class: "answer" }, mark, question.answer));
      this.details.open = false;
      return;
    }
    this.details.open = item.content.length > 0;
    this.questionPlace.replaceChildren(questionPanel(item, question, this.page.send));
  }

  /** Only what is open is made: a long conversation has hundreds of closed ones. */
  private renderBody(): void {
    const item = this.item;
    if (item === undefined || !this.details.open) return;
    const parts: HTMLElement[] = [];
    const diffs = item.content.filter((content): content is Diff => content.type === "diff");
    for (const diff of diffs) parts.push(diffView(diff, this.page));
    if (diffs.length === 0) parts.push(inputView(item));
    for (const content of item.content) {
      if (content.type === "content" && content.content.text !== "") {
        parts.push(
          element(
            "pre",
            { class: "output", tabindex: "0", role: "group", "aria-label": "Output" },
            content.content.text,
          ),
        );
      }
    }
    for (const { path, line } of diffs.length > 0 ? [] : item.locations) {
      const label = line === undefined ? this.page.shownPath(path) : `${this.page.shownPath(path)}:${line}`;
      parts.push(
        linkButton(label, () => this.page.send({ type: "openFile", path, ...(line === undefined ? {} : { line }) })),
      );
    }
    this.body.replaceChildren(...parts);
  }
}

function inputView(item: ToolItem): HTMLElement {
  const text = typeof item.rawInput === "string" ? item.rawInput : JSON.stringify(item.rawInput, undefined, 2);
  return element("pre", { class: "input", tabindex: "0", role: "group", "aria-label": "Input" }, text);
}

function diffCount(item: ToolItem): HTMLElement | undefined {
  const diff = item.content.find((content): content is Diff => content.type === "diff");
  const counted = diff && diffLines(diff.oldText ?? "", diff.newText);
  if (counted === undefined) return undefined;
  return element(
    "span",
    { class: "diff-count" },
    hiddenText(`lines added: ${counted.added}, removed: ${counted.removed}`),
    element("span", { class: "added", "aria-hidden": "true" }, `+${counted.added}`),
    element("span", { class: "removed", "aria-hidden": "true" }, `−${counted.removed}`),
  );
}

function diffView(diff: Diff, { send, shownPath }: Page): HTMLElement {
  const { path, oldText, newText } = diff;
  const compared = diffLines(oldText ?? "", newText);
  const open = linkButton("Open diff", () => send({ type: "openDiff", path, oldText, newText }));
  const name = linkButton("", () => send({ type: "openFile", path }));
  name.classList.add("path");
  name.title = path;
  // The end of a path says more than its beginning: what does not fit is cut on the left.
  name.append(element("bdi", { dir: "ltr" }, shownPath(path)));
  const head = element("div", { class: "diff-head" }, name, open);
  if (compared === undefined)
    return element("div", { class: "diff" }, head, element("p", {}, "Too large to show here."));
  const lines = element("pre", {
    tabindex: "0",
    role: "group",
    "aria-label": `Diff of ${shownPath(path)}, lines added: ${compared.added}, removed: ${compared.removed}`,
  });
  const marks = { added: "+", removed: "-", kept: " ", gap: "" };
  for (const { kind, text } of compared.lines) {
    lines.append(element("span", { class: `line ${kind}` }, `${marks[kind]}${text}\n`));
  }
  return element("div", { class: "diff" }, head, lines);
}

function questionPanel(item: ToolItem, question: Question, send: Send): HTMLElement {
  const reason = element("input", {
    type: "text",
    class: "reason",
    "aria-label": "Reason for a refusal, which the agent reads (optional)",
    placeholder: "Reason for a no (optional)",
  });
  const answer = (optionId: string) => {
    const { requestId } = question;
    send({ type: "answer", requestId, optionId, ...(reason.value.trim() ? { reason: reason.value.trim() } : {}) });
  };
  const refusal = question.options.find(({ kind }) => kind.startsWith("reject"));
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && refusal !== undefined) answer(refusal.optionId);
  });
  const buttons = question.options.map(({ optionId, name, kind }) =>
    button(name, { class: kind === "allow_once" ? "primary" : "secondary" }, () => answer(optionId)),
  );
  return element(
    "div",
    { class: "permission", role: "group", "aria-label": `The agent asks: ${item.title}`, tabindex: "-1" },
    element("div", { class: "buttons" }, ...buttons),
    refusal !== undefined && reason,
  );
}
