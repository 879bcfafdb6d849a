import type { FailureAction } from "../src/shared/chatMessages";
import { CompactionView } from "./compactionView";
import { button, element, hiddenText, icon } from "./elements";
import { StreamingMarkdown } from "./markdown";
import type { Page, Send } from "./page";
import { ToolView } from "./toolView";
import type { AgentItem, FailureItem, Item, NoticeItem, PlanItem, UserItem } from "./transcript";

/** An item on the page; `update` is called when the item has changed. */
export interface ItemView {
  readonly element: HTMLElement;
  update(item: Item): void;
}

export function viewOf(item: Item, page: Page): ItemView {
  switch (item.kind) {
    case "user":
      return only("user", userView(), item.kind);
    case "agent":
      return only("agent", new AnswerView(), item.kind);
    case "thought":
      return only("thought", new ThoughtView(), item.kind);
    case "tool": {
      const view = new ToolView(page);
      return { element: view.element, update: (next) => next.kind === "tool" && view.update(next) };
    }
    case "compaction": {
      const view = new CompactionView(page.send);
      return { element: view.element, update: (next) => next.kind === "compaction" && view.update(next) };
    }
    case "plan":
      return only("plan", planView(), item.kind);
    case "failure":
      return only("failure", failureView(page.send), item.kind);
    case "notice":
      return only("notice", noticeView(), item.kind);
  }
}

interface PartialView<Kind> {
  readonly element: HTMLElement;
  update(item: Kind): void;
}

/** A view of one kind of item as a view of any: an item never changes its kind. */
function only<Kind extends Item["kind"]>(
  name: string,
  view: PartialView<Extract<Item, { kind: Kind }>>,
  kind: Kind,
): ItemView {
  view.element.dataset.item = name;
  view.element.tabIndex = -1;
  return {
    element: view.element,
    update: (item) => {
      if (item.kind === kind) view.update(item as Extract<Item, { kind: Kind }>);
    },
  };
}

function userView(): PartialView<UserItem> {
  const made = element("article", { class: "user", "aria-label": "You" });
  return {
    element: made,
    update: ({ text, attachments }) => {
      const chips = attachments.map((label) => element("li", { class: "chip" }, icon("file"), label));
      made.replaceChildren(
        element("p", { class: "prompt" }, text),
        ...(chips.length > 0 ? [element("ul", { class: "chips", "aria-label": "Attached" }, ...chips)] : []),
      );
    },
  };
}

class AnswerView implements PartialView<AgentItem> {
  readonly element = element("article", { class: "agent", "aria-label": "Agent" });
  private readonly markdown = new StreamingMarkdown();

  constructor() {
    this.element.append(this.markdown.element);
  }

  update({ text }: AgentItem): void {
    this.markdown.update(text);
  }
}

class ThoughtView implements PartialView<AgentItem> {
  readonly element = element("article", { class: "thought", "aria-label": "The agent's thinking" });
  private readonly markdown = new StreamingMarkdown();

  constructor() {
    this.element.append(
      element("details", {}, element("summary", {}, icon("lightbulb"), "Thinking"), this.markdown.element),
    );
  }

  update({ text }: AgentItem): void {
    this.markdown.update(text);
  }
}

const PLAN_MARKS = {
  pending: ["circle-large-outline", "to do"],
  in_progress: ["arrow-circle-right", "doing"],
  completed: ["pass-filled", "done"],
} as const;

function planView(): PartialView<PlanItem> {
  const made = element("article", { class: "plan", "aria-label": "Plan" });
  return {
    element: made,
    update: ({ entries }) => {
      const rows = entries.map(({ content, status }) => {
        const [mark, word] = PLAN_MARKS[status];
        return element("li", { class: status }, icon(mark), hiddenText(`${word}: `), content);
      });
      made.replaceChildren(element("h2", {}, "Plan"), element("ol", {}, ...rows));
    },
  };
}

function noticeView(): PartialView<NoticeItem> {
  const made = element("p", { class: "notice" });
  return { element: made, update: ({ text }) => made.replaceChildren(text) };
}

const ACTIONS: Record<FailureAction, readonly [string, `agentLs.${FailureAction}`]> = {
  setApiKey: ["Set API Key…", "agentLs.setApiKey"],
  newSession: ["New Session", "agentLs.newSession"],
  showLog: ["Show Log", "agentLs.showLog"],
};

function failureView(send: Send): PartialView<FailureItem> {
  const made = element("article", { class: "failure", "aria-label": "Error" });
  return {
    element: made,
    update: ({ message, hint, action }) => {
      const [label, command] = action === undefined ? [] : ACTIONS[action];
      made.replaceChildren(
        icon("error"),
        element("p", {}, message, hint === undefined ? undefined : element("span", { class: "hint" }, ` ${hint}`)),
      );
      if (label !== undefined && command !== undefined) {
        made.append(button(label, { class: "secondary" }, () => send({ type: "command", command })));
      }
    },
  };
}
