import { tokensText } from "../src/shared/numbers";
import type { Trigger } from "../src/shared/protocol";
import { element, icon, linkButton } from "./elements";
import { renderMarkdown } from "./markdown";
import type { Send } from "./page";
import type { CompactionItem } from "./transcript";

const WHY: Record<Trigger, string> = {
  turnEnd: "after the turn",
  guard: "before a request that would not have fitted",
  overflow: "after the model refused a request as too long",
  manual: "by hand",
};

/** What one line says of a compaction. */
export function compactionText(item: Omit<CompactionItem, "kind">): string {
  const what = item.tier === "full" ? "Compacted" : "Trimmed old tool results";
  switch (item.status) {
    case "started":
      return item.tier === "full" ? "Compacting…" : "Trimming old tool results…";
    case "cancelled":
      return "Compaction cancelled; nothing changed.";
    case "failed":
      return `Compaction failed${item.reason ? `: ${item.reason}` : "."}`;
    case "completed": {
      const numbers =
        item.before && item.after ? `: ${tokensText(item.before)} → ${tokensText(item.after)} tokens` : "";
      return `${what}${numbers}${item.undone ? " (undone)" : ""}`;
    }
  }
}

/** A compaction as a line across the conversation, with its summary and the way back. */
export class CompactionView {
  readonly element = element("article", { class: "compaction", tabindex: "-1" });
  private summaryShown = false;

  constructor(private readonly send: Send) {}

  update(item: CompactionItem): void {
    if (item.undone) this.summaryShown = false;
    const text = compactionText(item);
    const sign =
      item.status === "started" ? "loading codicon-modifier-spin" : item.status === "failed" ? "warning" : "fold";
    this.element.setAttribute("aria-label", `${text} ${WHY[item.trigger]}`);
    this.element.dataset.status = item.status;
    // A link that had the focus goes with what it did; the keyboard stays on the line.
    const hadFocus = this.element.contains(document.activeElement);
    this.element.replaceChildren(
      element(
        "div",
        { class: "compaction-line", title: WHY[item.trigger] },
        icon(sign),
        element("span", { class: "text" }, text),
      ),
      ...this.links(item),
    );
    if (hadFocus) this.element.focus();
  }

  private links(item: CompactionItem): HTMLElement[] {
    if (item.status !== "completed" || item.tier !== "full") return [];
    const links = element("div", { class: "compaction-links" });
    const { summary } = item;
    const content = element("div", { class: "markdown summary-text" });
    if (summary !== undefined) {
      content.innerHTML = renderMarkdown(summary);
      content.hidden = !this.summaryShown;
      const toggle = linkButton("Summary", () => {
        this.summaryShown = !this.summaryShown;
        content.hidden = !this.summaryShown;
        toggle.setAttribute("aria-expanded", String(this.summaryShown));
        if (this.summaryShown) content.scrollIntoView({ block: "nearest" });
      });
      toggle.setAttribute("aria-expanded", String(this.summaryShown));
      links.append(toggle);
    }
    if (!item.undone) {
      links.append(linkButton("Undo", () => this.send({ type: "command", command: "agentLs.undoCompaction" })));
    }
    return summary === undefined ? [links] : [links, content];
  }
}
