import type { Attachment, ChatStatus, Completion } from "../src/shared/chatMessages";
import { CompletionList, typedWord } from "./completionList";
import { button, element, icon } from "./elements";
import type { Send } from "./page";
import type { PromptRecall } from "./promptRecall";
import { StatusLine } from "./statusLine";

export interface Draft {
  text: string;
  attachments: Attachment[];
}

/** Where prompts are written: text, attached files, completion, send and stop. */
export class Composer {
  private readonly input = element("textarea", {
    rows: "1",
    "aria-label": "Prompt",
    placeholder: "Ask, @ for a file, / for a command",
    spellcheck: "true",
  });
  private readonly chips = element("ul", { class: "chips", "aria-label": "Attached" });
  private readonly submit = element("button", { type: "button", class: "submit" });
  private readonly status: StatusLine;
  private readonly completions: CompletionList;
  private attachments: Attachment[] = [];
  private busy = false;
  private requestCount = 0;

  constructor(
    root: HTMLElement,
    private readonly send: Send,
    private readonly onDraft: (draft: Draft) => void,
    private readonly recall: PromptRecall,
  ) {
    this.status = new StatusLine(() => send({ type: "command", command: "agentLs.context" }));
    this.completions = new CompletionList(this.input, (completion) => this.complete(completion));
    this.input.addEventListener("input", () => this.changed());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => this.completions.close());
    this.submit.addEventListener("click", () => (this.stops ? this.stop() : this.sendPrompt()));
    const box = element("div", { class: "box" }, this.chips, this.input, this.submit);
    root.append(this.completions.element, this.status.element, box);
    this.changed();
  }

  get isEmpty(): boolean {
    return this.input.value.trim() === "" && this.attachments.length === 0;
  }

  restore(draft: Draft): void {
    this.input.value = draft.text;
    this.attachments = draft.attachments;
    this.changed();
  }

  attach(attachments: readonly Attachment[]): void {
    const known = new Set(this.attachments.map(({ label }) => label));
    this.attachments.push(...attachments.filter(({ label }) => !known.has(label)));
    this.changed();
  }

  focus(): void {
    this.input.focus();
  }

  update(status: ChatStatus): void {
    this.busy = status.gauge !== null && status.gauge.state !== "idle";
    this.input.disabled = status.availability.state !== "ready" && status.availability.state !== "starting";
    this.status.update(status);
    this.drawSubmit();
  }

  showCompletions(requestId: number, items: Completion[]): void {
    if (requestId === this.requestCount && document.activeElement === this.input) this.completions.show(items);
  }

  /** While a turn runs an empty prompt stops it, and a written one is handed to it. */
  private get stops(): boolean {
    return this.busy && this.input.value.trim() === "";
  }

  private changed(): void {
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight}px`;
    this.drawChips();
    this.drawSubmit();
    this.onDraft({ text: this.input.value, attachments: this.attachments });
    const typed = typedWord(this.input.value, this.input.selectionStart);
    this.requestCount += 1;
    if (typed === undefined || document.activeElement !== this.input) {
      this.completions.close();
      return;
    }
    this.send({ type: "complete", requestId: this.requestCount, trigger: typed.trigger, word: typed.word });
  }

  private drawSubmit(): void {
    const label = this.stops ? "Stop" : this.busy ? "Send to the running turn" : "Send";
    this.submit.replaceChildren(icon(this.stops ? "debug-stop" : "send"));
    this.submit.title = this.stops ? "Stop (Escape)" : `${label} (Enter)`;
    this.submit.setAttribute("aria-label", label);
    this.submit.disabled = this.input.disabled || (!this.busy && this.isEmpty);
  }

  private drawChips(): void {
    this.chips.hidden = this.attachments.length === 0;
    this.chips.replaceChildren(
      ...this.attachments.map((attachment) => {
        const remove = button("", { class: "icon-button", "aria-label": `Remove ${attachment.label}` }, () => {
          this.attachments = this.attachments.filter((kept) => kept !== attachment);
          this.changed();
          this.focus();
        });
        remove.append(icon("close"));
        return element("li", { class: "chip" }, icon("file"), attachment.label, remove);
      }),
    );
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (this.completions.key(event)) {
      event.preventDefault();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.sendPrompt();
    } else if (event.key === "Escape" && this.busy) {
      event.preventDefault();
      this.stop();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const text = this.recall.step(event.key === "ArrowUp" ? 1 : -1, this.input.value);
      if (text === undefined) return;
      event.preventDefault();
      this.restore({ text, attachments: this.attachments });
    }
  }

  private sendPrompt(): void {
    const text = this.input.value.trim();
    if (this.input.disabled || text === "") return;
    this.send({ type: "send", text, attachments: this.attachments });
    this.restore({ text: "", attachments: [] });
  }

  private stop(): void {
    this.send({ type: "stop" });
  }

  private complete({ insert, attachment }: Completion): void {
    const typed = typedWord(this.input.value, this.input.selectionStart);
    if (typed === undefined) return;
    this.input.setRangeText(insert, typed.start, this.input.selectionStart, "end");
    if (attachment !== undefined) this.attach([attachment]);
    else this.changed();
  }
}
