import type { ChatEvent } from "../src/shared/chatMessages";

const MOST_CHARACTERS = 1500;

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
      return event.event.status === "started" ? "Compacting." : `Compaction ${event.event.status}.`;
    case "notice":
      return event.text;
    case "compactionUndone":
      return event.message;
    default:
      return undefined;
  }
}
