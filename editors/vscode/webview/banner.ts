import type { Availability, ChatCommand } from "../src/shared/chatMessages";
import { button, element, icon } from "./elements";
import type { Send } from "./page";

const TEXTS: Record<Availability["state"], readonly [string, ChatCommand, string] | undefined> = {
  ready: undefined,
  starting: undefined,
  untrusted: ["The agent is off until you trust this workspace.", "agentLs.manageTrust", "Manage Workspace Trust"],
  noFolder: ["The agent works in a folder.", "agentLs.openFolder", "Open Folder"],
  missing: ["The agent-ls server is not installed.", "agentLs.installServer", "Install…"],
  failed: ["", "agentLs.restartServer", "Restart"],
};

/** Why there is nothing to talk to, with what to do about it. Empty when there is. */
export function banner(availability: Availability, send: Send): HTMLElement | undefined {
  const shown = TEXTS[availability.state];
  if (shown === undefined) return undefined;
  const [text, command, label] = shown;
  const message = availability.state === "failed" ? availability.message : text;
  return element(
    "section",
    { class: "banner", role: "alert" },
    element("p", {}, icon("info"), message),
    button(label, { class: "primary" }, () => send({ type: "command", command })),
  );
}
