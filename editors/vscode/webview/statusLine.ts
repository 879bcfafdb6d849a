import type { ChatStatus } from "../src/shared/chatMessages";
import { levelWord } from "../src/shared/levels";
import { element, icon } from "./elements";

const STATE_WORDS = { idle: "", running: "Working", compacting: "Compacting" } as const;

/** The line above the prompt: what the agent does, its model, and how full the window is. */
export class StatusLine {
  readonly element = element("div", { class: "status-line" });
  private readonly state = element("span", { class: "state" });
  private readonly model = element("span", { class: "model" });
  private readonly meter = element("button", { type: "button", class: "meter" });
  private readonly fill = element("span", { class: "meter-fill" });
  private readonly number = element("span", { class: "meter-text" });

  constructor(onContext: () => void) {
    this.meter.append(element("span", { class: "meter-bar", "aria-hidden": "true" }, this.fill), this.number);
    this.meter.addEventListener("click", onContext);
    this.element.append(this.state, this.model, this.meter);
  }

  update({ gauge }: ChatStatus): void {
    this.element.hidden = gauge === null;
    if (gauge === null) return;
    const word = STATE_WORDS[gauge.state];
    this.state.replaceChildren(...(word === "" ? [] : [icon("loading", "codicon-modifier-spin"), word]));
    this.model.textContent = gauge.model;
    this.model.title = gauge.model;
    this.meter.dataset.level = gauge.level;
    this.meter.title = "Show what fills the context window";
    this.meter.setAttribute("aria-label", `${gauge.accessibleText}. Show what fills the context window`);
    this.fill.style.width = `${Math.min(100, gauge.percent)}%`;
    this.number.textContent = [gauge.text, levelWord(gauge.level)].filter(Boolean).join(" ");
  }
}
