import type { ChatEvent } from "../src/shared/chatMessages";
import { compactionText } from "./compactionView";
import { element } from "./elements";

const MOST_CHARACTERS = 1500;
const MOST_KEPT = 5;

/** Has a screen reader say something once. Each is an element of its own: what comes right after does not replace it. */
export function announce(region: HTMLElement, text: string): void {
  region.append(element("p", {}, text));
  while (region.childElementCount > MOST_KEPT) region.firstElementChild?.remove();
}

/** What a screen reader says of an event; an answer is said once, when it is complete, and not word by word. */
export function announcementOf(event: ChatEvent, lastAnswer: string): string | undefined {
  switch (event.kind) {
    case "prompt":
      return "Sent. The agent is working.";
    case "permission":
      return `The agent asks: ${event.toolCall.title}. ${event.options.map(({ name }) => name).join(", ")}?`;
    case "permissionAnswered":
      return event.answer;
    case "turnEnded":
      return event.stopReason === "cancelled" ? "Stopped." : `Agent: ${lastAnswer.slice(0, MOST_CHARACTERS)}`;
    case "update":
      return event.update.sessionUpdate === "tool_call" ? event.update.title : undefined;
    case "compaction":
      return compactionText({ ...event.event, undone: false });
    case "failure":
      return [event.message, event.hint].filter(Boolean).join(" ");
    case "notice":
      return event.text;
    case "compactionUndone":
      return event.message;
    default:
      return undefined;
  }
}
