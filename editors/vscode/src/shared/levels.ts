import type { Gauge } from "./protocol";

/** The gauge's level in a word, beside the colour; undefined where there is nothing to say. */
export function levelWord(level: Gauge["level"]): string | undefined {
  if (level === "ok") return undefined;
  return level === "micro" ? "filling" : "nearly full";
}
