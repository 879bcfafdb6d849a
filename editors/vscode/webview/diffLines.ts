import { structuredPatch } from "diff";

export type DiffLine = { kind: "added" | "removed" | "kept"; text: string } | { kind: "gap"; text: string };

export interface DiffSummary {
  lines: DiffLine[];
  added: number;
  removed: number;
}

const CONTEXT_LINES = 3;
const MOST_LINES = 400;
const TIMEOUT_MS = 500;

/** The lines of a change with what surrounds them; undefined when the texts are too different to compare quickly. */
export function diffLines(oldText: string, newText: string): DiffSummary | undefined {
  const patch = structuredPatch("", "", oldText, newText, "", "", { context: CONTEXT_LINES, timeout: TIMEOUT_MS });
  if (patch === undefined) return undefined;
  const lines: DiffLine[] = [];
  for (const hunk of patch.hunks) {
    lines.push({ kind: "gap", text: `Line ${hunk.newLines === 0 ? hunk.oldStart : hunk.newStart}` });
    for (const line of hunk.lines) {
      if (line.startsWith("\\")) continue;
      const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "kept";
      lines.push({ kind, text: line.slice(1) });
    }
  }
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  const [added, removed] = [count("added"), count("removed")];
  if (lines.length > MOST_LINES) {
    const more = lines.length - MOST_LINES;
    lines.splice(MOST_LINES, more, { kind: "gap", text: `${more} more lines` });
  }
  return { lines, added, removed };
}
