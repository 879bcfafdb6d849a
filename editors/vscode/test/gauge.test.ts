import assert from "node:assert/strict";
import { test } from "node:test";
import manifest from "../package.json";
import { present, TOOLTIP_COMMANDS } from "../src/gauge/presentation";
import type { Gauge } from "../src/shared/protocol";

const GAUGE: Gauge = {
  sessionId: "s",
  workspace: "file:///w",
  used: { count: 24_000, basis: "measured" },
  window: 200_000,
  fraction: 0.12,
  percent: 12,
  glyph: "○",
  level: "ok",
  color: "green",
  tiers: [],
  text: "○ 12%",
  tooltip: "**Context**",
  accessibleText: "Agent context window 12 percent full",
  model: "m",
  cost: null,
  cacheShare: null,
  lastCompaction: null,
  state: "idle",
  warnings: [],
};
const shown = (gauge: Partial<Gauge>, question?: string, folderName?: string) =>
  present({ gauge: { ...GAUGE, ...gauge }, absence: undefined, question, folderName });

test("the text is the server's", () => {
  assert.equal(shown({}).text, "○ 12%");
  assert.equal(shown({}).background, undefined);
});

test("levels are said in words besides the colour", () => {
  assert.equal(shown({ level: "micro" }).text, "○ 12% filling");
  assert.equal(shown({ level: "micro" }).background, "warning");
  assert.equal(shown({ level: "full" }).text, "○ 12% nearly full");
  assert.equal(shown({ level: "full" }).background, "error");
});

test("it spins and says so while the agent works", () => {
  assert.equal(shown({ state: "running" }).text, "$(loading~spin) ○ 12% working");
  assert.equal(shown({ state: "compacting" }).text, "$(loading~spin) ○ 12% compacting");
});

test("a question that waits is in the text and in the label", () => {
  const { text, accessibleLabel } = shown({ state: "running" }, "Run make");
  assert.match(text, /permission needed/);
  assert.equal(accessibleLabel, "Agent context window 12 percent full, permission needed: Run make");
});

test("of several folders the gauge names its own", () => {
  assert.equal(shown({}, undefined, "app").text, "app: ○ 12%");
});

test("without a server it says why", () => {
  const absent = present({ gauge: GAUGE, absence: "untrusted", question: undefined, folderName: undefined });
  assert.match(absent.text, /restricted/);
  assert.match(absent.accessibleLabel, /trust/);
});

test("the tooltip links only to commands that exist, and they alone are trusted", () => {
  const { tooltip } = shown({ tooltip: "[evil](command:workbench.action.terminal.new)" });
  for (const label of ["Compact", "Context", "New session", "Log"])
    assert.ok(tooltip.includes(`[${label}](command:agentLs.`));
  const contributed = new Set(manifest.contributes.commands.map(({ command }) => command));
  for (const command of TOOLTIP_COMMANDS) assert.ok(contributed.has(command), command);
});
