import assert from "node:assert/strict";
import { test } from "node:test";
import { Conversation } from "../../src/sessions/conversation";
import type { ChatEvent } from "../../src/shared/chatMessages";
import type { CompactionEvent, SessionUpdate, ToolCall } from "../../src/shared/protocol";
import { announcementOf } from "../../webview/announcements";
import { compactionText } from "../../webview/compactionView";
import { diffLines } from "../../webview/diffLines";
import { Transcript } from "../../webview/transcript";

const CALL: ToolCall = {
  toolCallId: "c1",
  title: "Edit a.py",
  kind: "edit",
  status: "in_progress",
  rawInput: {},
  locations: [],
};
const DIFF = { type: "diff", path: "/a.py", oldText: "a\n", newText: "b\n" } as const;
const COMPACTION: CompactionEvent = {
  sessionId: "s",
  compactionId: "k1",
  tier: "full",
  trigger: "manual",
  status: "completed",
  before: { count: 120_000, basis: "measured" },
  after: { count: 9_000, basis: "estimated" },
};
const said = (text: string): ChatEvent => ({
  kind: "update",
  update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
});
const update = (value: SessionUpdate): ChatEvent => ({ kind: "update", update: value });

function transcriptOf(...events: ChatEvent[]): Transcript {
  const transcript = new Transcript();
  for (const event of events) transcript.apply(event);
  return transcript;
}

test("replaying what was recorded makes the conversation that was streamed", () => {
  const live = new Transcript();
  const conversation = new Conversation("s", "file:///w", [], (_of, event) => live.apply(event));
  conversation.beginTurn("hi", ["a.py"]);
  for (const part of ["one ", "two ", "three"]) {
    conversation.receive({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: part } });
  }
  conversation.receive({ sessionUpdate: "tool_call", ...CALL });
  conversation.receive({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed" });
  conversation.receive({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "done" } });
  conversation.endTurn("done");
  conversation.add({ kind: "turnEnded", stopReason: "end_turn" });
  assert.deepEqual(transcriptOf(...conversation.events).items, live.items);
  assert.equal(conversation.events.length, 6);
});

test("a question stands at its tool call, keeps the diff, and is answered there", () => {
  const options = [{ optionId: "y", name: "Allow once", kind: "allow_once" } as const];
  const transcript = transcriptOf(
    update({ sessionUpdate: "tool_call", ...CALL }),
    { kind: "permission", requestId: "p1", toolCall: { ...CALL, content: [DIFF] }, options },
    { kind: "permissionAnswered", requestId: "p1", answer: "Allow once", allowed: true },
    update({
      sessionUpdate: "tool_call_update",
      toolCallId: "c1",
      status: "completed",
      content: [{ type: "content", content: { type: "text", text: "Edited." } }],
    }),
  );
  assert.equal(transcript.items.length, 1);
  const [item] = transcript.items;
  assert.ok(item?.kind === "tool");
  assert.equal(item.question?.answer, "Allow once");
  assert.deepEqual(
    item.content.map(({ type }) => type),
    ["diff", "content"],
  );
});

test("no call runs on in a turn that is over", () => {
  const transcript = transcriptOf(update({ sessionUpdate: "tool_call", ...CALL }), {
    kind: "turnEnded",
    stopReason: "cancelled",
  });
  assert.deepEqual(
    transcript.items.map((item) => (item.kind === "tool" ? item.status : item.kind)),
    ["failed", "notice"],
  );
});

test("a plan is replaced within its turn and left alone in the next", () => {
  const plan = (content: string): ChatEvent =>
    update({ sessionUpdate: "plan", entries: [{ content, priority: "medium", status: "pending" }] });
  const transcript = transcriptOf(plan("a"), plan("b"), { kind: "prompt", text: "go on", attachments: [] }, plan("c"));
  assert.deepEqual(
    transcript.items.map((item) => (item.kind === "plan" ? item.entries[0]?.content : item.kind)),
    ["b", "user", "c"],
  );
});

test("a compaction is one line from its start to its undoing", () => {
  const { before, after: _, ...started } = COMPACTION;
  const transcript = transcriptOf(
    { kind: "compaction", event: { ...started, status: "started", ...(before ? { before } : {}) } },
    { kind: "compaction", event: COMPACTION },
    { kind: "summary", compactionId: "k1", summary: "## Goal" },
    { kind: "compactionUndone", message: "Undone." },
  );
  const [item] = transcript.items;
  assert.ok(item?.kind === "compaction");
  assert.equal(compactionText(item), "Compacted: 120,000 → ~9,000 tokens (undone)");
  assert.equal(item.summary, "## Goal");
  assert.equal(transcript.items.length, 2);
});

test("history from the log is shown as it was said", () => {
  const words = (text: string): ChatEvent =>
    update({ sessionUpdate: "user_message_chunk", content: { type: "text", text } });
  const link = update({
    sessionUpdate: "user_message_chunk",
    content: { type: "resource_link", uri: "file:///a.py", name: "a.py" },
  });
  const [first, second] = transcriptOf(words("look"), link, said("ok")).items;
  assert.ok(first?.kind === "user" && second?.kind === "agent");
  assert.deepEqual([first.text, first.attachments, second.text], ["look", ["a.py"], "ok"]);
});

test("an answer is announced once, when it is complete", () => {
  assert.equal(announcementOf(said("half an ans"), ""), undefined);
  assert.equal(announcementOf({ kind: "turnEnded", stopReason: "end_turn" }, "the answer"), "Agent: the answer");
  const permission: ChatEvent = {
    kind: "permission",
    requestId: "p",
    toolCall: CALL,
    options: [{ optionId: "y", name: "Allow once", kind: "allow_once" }],
  };
  assert.equal(announcementOf(permission, ""), "The agent asks: Edit a.py. Allow once?");
});

test("a diff has its counts, its context and no more", () => {
  const before = Array.from({ length: 100 }, (_, line) => `line ${line}`).join("\n");
  const compared = diffLines(before, before.replace("line 50\n", "line fifty\n"));
  assert.ok(compared);
  assert.deepEqual([compared.added, compared.removed], [1, 1]);
  assert.equal(compared.lines.filter(({ kind }) => kind === "kept").length, 6);
});
