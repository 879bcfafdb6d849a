import assert from "node:assert/strict";
import { test } from "node:test";
import { contextRows } from "../src/sessions/contextPick";
import type { Tokens } from "../src/shared/protocol";

const estimated = (count: number): Tokens => ({ count, basis: "estimated" });

test("what fills the window is read in words: its parts, and what is free", () => {
  const rows = contextRows({
    sessionId: "s",
    total: estimated(2_500),
    window: 10_000,
    categories: [
      { id: "answers", label: "Answers", tokens: estimated(2_450) },
      { id: "memory", label: "Memory", tokens: estimated(0) },
      { id: "user", label: "Your messages", tokens: estimated(50) },
    ],
    advice: ["Start a new session."],
  });
  assert.deepEqual(
    rows.map(({ label, description }) => [label, description]),
    [
      ["Answers", "~2,450 tokens, 24%"],
      ["Your messages", "~50 tokens, <1%"],
      ["Free", "7,500 tokens, 75%"],
      ["Advice", undefined],
      ["Start a new session.", undefined],
    ],
  );
});
