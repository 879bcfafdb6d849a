import type { Completion } from "../src/shared/chatMessages";
import { element } from "./elements";

export interface TypedWord {
  trigger: "/" | "@";
  word: string;
  /** Where the trigger stands in the text. */
  start: number;
}

/** The word being typed at the cursor, if it is one to complete: `/word` at the very start, `@word` anywhere. */
export function typedWord(text: string, cursor: number): TypedWord | undefined {
  const before = text.slice(0, cursor);
  const command = /^\/(\w*)$/.exec(before);
  if (command) return { trigger: "/", word: command[1] ?? "", start: 0 };
  const file = /(?:^|\s)@(\S*)$/.exec(before);
  if (file) return { trigger: "@", word: file[1] ?? "", start: cursor - (file[1] ?? "").length - 1 };
  return undefined;
}

/** The list above the prompt. The prompt keeps the focus and names the chosen row (aria-activedescendant). */
export class CompletionList {
  readonly element = element("ul", { id: "completions", role: "listbox", "aria-label": "Completions", hidden: "" });
  private items: Completion[] = [];
  private chosen = 0;

  constructor(
    private readonly input: HTMLTextAreaElement,
    private readonly onAccept: (completion: Completion) => void,
  ) {
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", this.element.id);
  }

  get open(): boolean {
    return this.items.length > 0;
  }

  show(items: Completion[]): void {
    this.items = items;
    this.chosen = 0;
    this.element.hidden = items.length === 0;
    this.element.replaceChildren(...items.map((item, index) => this.row(item, index)));
    this.mark();
  }

  close(): void {
    this.show([]);
  }

  /** Handles a key of the prompt; true when the list has used it. */
  key(event: KeyboardEvent): boolean {
    if (!this.open) return false;
    switch (event.key) {
      case "ArrowDown":
        return this.move(1);
      case "ArrowUp":
        return this.move(-1);
      case "Escape":
        this.close();
        return true;
      case "Tab":
      case "Enter":
        if (event.shiftKey) return false;
        if (event.key === "Enter" && this.isWritten()) {
          this.close();
          return false;
        }
        this.accept(this.chosen);
        return true;
      default:
        return false;
    }
  }

  /** Whether the chosen command stands there in full: Enter means it, and needs no second one. */
  private isWritten(): boolean {
    const chosen = this.items[this.chosen];
    return chosen?.attachment === undefined && chosen?.insert.trimEnd() === this.input.value.trimEnd();
  }

  private move(by: number): true {
    this.chosen = (this.chosen + by + this.items.length) % this.items.length;
    this.mark();
    return true;
  }

  private accept(index: number): void {
    const item = this.items[index];
    this.close();
    if (item !== undefined) this.onAccept(item);
  }

  private mark(): void {
    for (const [index, row] of [...this.element.children].entries()) {
      row.setAttribute("aria-selected", String(index === this.chosen));
      if (index === this.chosen) row.scrollIntoView({ block: "nearest" });
    }
    if (this.open) this.input.setAttribute("aria-activedescendant", `completion-${this.chosen}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  private row({ label, detail }: Completion, index: number): HTMLElement {
    const row = element(
      "li",
      { id: `completion-${index}`, role: "option" },
      element("span", { class: "label" }, label),
      element("span", { class: "detail" }, detail),
    );
    row.addEventListener("mousedown", (event) => {
      event.preventDefault();
      this.accept(index);
    });
    return row;
  }
}
