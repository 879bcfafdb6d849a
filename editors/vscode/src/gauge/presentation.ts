import { levelWord } from "../shared/levels";
import type { Gauge } from "../shared/protocol";

/** Why there is no gauge to show. */
export type Absence = "starting" | "untrusted" | "noFolder" | "missing" | "failed";

export interface GaugeInput {
  gauge: Gauge | undefined;
  absence: Absence | undefined;
  /** The title of the tool call that waits for an answer. */
  question: string | undefined;
  /** The folder's name, given only where there are several. */
  folderName: string | undefined;
}

export interface Presentation {
  text: string;
  accessibleLabel: string;
  background: "warning" | "error" | undefined;
  tooltip: string;
}

const ABSENCES: Record<Absence, { text: string; label: string; tooltip: string }> = {
  starting: { text: "$(loading~spin) Agent: starting", label: "Agent is starting", tooltip: "The agent is starting." },
  untrusted: {
    text: "$(shield) Agent: restricted",
    label: "Agent is restricted until you trust this workspace",
    tooltip: "The agent does not start in a workspace you do not trust.",
  },
  noFolder: {
    text: "$(folder) Agent: no folder",
    label: "Agent needs an open folder",
    tooltip: "Open a folder first.",
  },
  missing: {
    text: "$(warning) Agent: not installed",
    label: "The agent server is not installed",
    tooltip: "The agent-ls server was not found.",
  },
  failed: { text: "$(error) Agent: failed", label: "The agent could not start", tooltip: "The agent could not start." },
};

const LINKS: Record<Absence | "gauge", readonly [string, string][]> = {
  gauge: [
    ["Compact", "agentLs.compact"],
    ["Context", "agentLs.context"],
    ["New session", "agentLs.newSession"],
    ["Log", "agentLs.showLog"],
  ],
  starting: [["Log", "agentLs.showLog"]],
  untrusted: [["Manage workspace trust", "agentLs.manageTrust"]],
  noFolder: [["Open a folder", "agentLs.openFolder"]],
  missing: [
    ["Install…", "agentLs.installServer"],
    ["Log", "agentLs.showLog"],
  ],
  failed: [
    ["Restart", "agentLs.restartServer"],
    ["Log", "agentLs.showLog"],
  ],
};

/** The commands a tooltip may run; its Markdown comes from the server and may run nothing else. */
export const TOOLTIP_COMMANDS: readonly string[] = [
  ...new Set(Object.values(LINKS).flatMap((links) => links.map(([, command]) => command))),
];

/** What the status bar shows: the server's text, with words besides the colour. */
export function present({ gauge, absence, question, folderName }: GaugeInput): Presentation {
  if (gauge === undefined || absence !== undefined) {
    const kind = absence ?? "starting";
    const { text, label, tooltip } = ABSENCES[kind];
    return {
      text,
      accessibleLabel: label,
      background: kind === "failed" ? "error" : kind === "missing" ? "warning" : undefined,
      tooltip: withLinks(tooltip, kind),
    };
  }
  const words = [stateWord(gauge), question === undefined ? undefined : "permission needed", levelWord(gauge.level)];
  const icon = question !== undefined ? "$(bell-dot) " : gauge.state === "idle" ? "" : "$(loading~spin) ";
  const said = words.filter((word) => word !== undefined);
  const place = folderName === undefined ? "" : `${folderName}: `;
  return {
    text: `${icon}${place}${gauge.text}${said.length > 0 ? ` ${said.join(", ")}` : ""}`,
    accessibleLabel: [`${place}${gauge.accessibleText}`, question && `permission needed: ${question}`]
      .filter(Boolean)
      .join(", "),
    background: gauge.level === "full" ? "error" : gauge.level === "micro" ? "warning" : undefined,
    tooltip: withLinks(gauge.tooltip, "gauge"),
  };
}

function stateWord(gauge: Gauge): string | undefined {
  if (gauge.state === "idle") return undefined;
  return gauge.state === "compacting" ? "compacting" : "working";
}

function withLinks(tooltip: string, kind: Absence | "gauge"): string {
  const links = LINKS[kind].map(([label, command]) => `[${label}](command:${command})`).join(" · ");
  return `${tooltip}\n\n---\n\n${links}`;
}
