import type { Tokens } from "./protocol";

/** `12,300 tokens`, with `~` before a number that is an estimate. */
export function tokensText(tokens: Tokens): string {
  return `${tokens.basis === "estimated" && tokens.count > 0 ? "~" : ""}${tokens.count.toLocaleString("en-US")}`;
}

/** Whole percent of the window, cut off as the gauge does it (CASCADE §8); never 0 for something. */
export function percentText(count: number, window: number): string {
  if (window <= 0 || count <= 0) return "0%";
  const percent = Math.floor((100 * count) / window);
  return percent === 0 ? "<1%" : `${percent}%`;
}
