import type { ChatEvent } from "../src/shared/chatMessages";
import { element } from "./elements";
import { type ItemView, viewOf } from "./itemView";
import type { Page, Send } from "./page";
import { type Item, Transcript } from "./transcript";

const NEAR_THE_END_PX = 60;

/** The scrolling conversation. Changes are drawn once a frame, however fast they come. */
export class ConversationPane {
  private transcript = new Transcript();
  private readonly views = new Map<number, ItemView>();
  private readonly changed = new Set<Item>();
  private readonly welcome = welcomeText();
  private readonly page: Page;
  private frame: number | undefined;
  private folder = "";

  constructor(
    private readonly root: HTMLElement,
    private readonly send: Send,
  ) {
    this.page = { send, shownPath: (path) => this.shownPath(path) };
    root.addEventListener("click", (event) => this.click(event));
    root.addEventListener("keydown", (event) => this.key(event));
    root.append(this.welcome);
  }

  get lastAnswer(): string {
    return this.transcript.lastAnswer;
  }

  /** What a person has asked, oldest first. */
  get prompts(): string[] {
    return this.transcript.items.flatMap((item) => (item.kind === "user" ? [item.text] : []));
  }

  set workspaceFolder(path: string | null) {
    this.folder = path ?? "";
  }

  reset(events: readonly ChatEvent[]): void {
    this.transcript = new Transcript();
    this.views.clear();
    this.changed.clear();
    this.root.replaceChildren(this.welcome);
    for (const event of events) this.apply(event);
    this.draw();
    this.root.scrollTop = this.root.scrollHeight;
  }

  apply(event: ChatEvent): void {
    for (const item of this.transcript.apply(event)) this.changed.add(item);
    if (event.kind === "prompt") this.root.scrollTop = this.root.scrollHeight;
    this.frame ??= requestAnimationFrame(() => this.draw());
  }

  /** Brings an open question into sight; the keyboard goes to it only when nobody is typing. False without one. */
  showQuestion(mayFocus: boolean): boolean {
    this.draw();
    const panel = this.root.querySelector<HTMLElement>(".permission");
    panel?.scrollIntoView({ block: "nearest" });
    if (mayFocus) panel?.focus();
    return panel !== null;
  }

  private draw(): void {
    if (this.frame !== undefined) cancelAnimationFrame(this.frame);
    this.frame = undefined;
    const follows = this.root.scrollHeight - this.root.scrollTop - this.root.clientHeight < NEAR_THE_END_PX;
    for (const item of this.changed) this.view(item).update(item);
    this.changed.clear();
    this.welcome.hidden = this.transcript.items.length > 0;
    if (follows) this.root.scrollTop = this.root.scrollHeight;
  }

  private shownPath(path: string): string {
    const inside = this.folder !== "" && path.startsWith(this.folder) && /^[\\/]/.test(path.slice(this.folder.length));
    return inside ? path.slice(this.folder.length + 1) : path;
  }

  private view(item: Item): ItemView {
    const known = this.views.get(item.id);
    if (known !== undefined) return known;
    const made = viewOf(item, this.page);
    this.views.set(item.id, made);
    this.root.append(made.element);
    return made;
  }

  private click(event: Event): void {
    const target = event.target instanceof Element ? event.target : undefined;
    const copy = target?.closest("[data-copy]");
    if (copy) {
      const text = copy.closest(".code-block")?.querySelector("pre")?.textContent ?? "";
      this.send({ type: "copy", text });
      showCopied(copy);
    }
    const link = target?.closest<HTMLElement>("a[data-file]");
    if (link) {
      event.preventDefault();
      const [, path = "", line] = /^(.*?)(?:(?::|#L)(\d+))?$/.exec(link.dataset.file ?? "") ?? [];
      this.send({ type: "openFile", path, ...(line === undefined ? {} : { line: Number(line) }) });
    }
  }

  /** Alt+Up and Alt+Down go from item to item. */
  private key(event: KeyboardEvent): void {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    const items = [...this.root.querySelectorAll<HTMLElement>(":scope > [tabindex]")];
    const at = items.findIndex((item) => item.contains(document.activeElement));
    const next = event.key === "ArrowDown" ? at + 1 : at < 0 ? items.length - 1 : at - 1;
    items[Math.max(0, Math.min(items.length - 1, next))]?.focus();
  }
}

function showCopied(copy: Element): void {
  const mark = copy.querySelector(".codicon");
  mark?.classList.replace("codicon-copy", "codicon-check");
  setTimeout(() => mark?.classList.replace("codicon-check", "codicon-copy"), 1500);
}

function welcomeText(): HTMLElement {
  return element(
    "section",
    { class: "welcome", "aria-label": "How to begin" },
    element("span", { class: "codicon codicon-comment-discussion", "aria-hidden": "true" }),
    element("h2", {}, "Ask about this workspace"),
    element(
      "ul",
      {},
      element("li", {}, element("kbd", {}, "@"), " adds a file, ", element("kbd", {}, "/"), " lists the commands."),
      element("li", {}, "Select code and choose “Ask Agent about Selection”."),
      element("li", {}, "The agent asks before it changes or runs anything."),
    ),
  );
}
