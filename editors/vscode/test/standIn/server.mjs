#!/usr/bin/env node
// A stand-in for `agent-ls`: speaks the wire contract over stdio with scripted answers, so that the extension's tests
// need no Python. What a prompt does is told by its text: "edit" asks for permission, "slow" streams until cancelled.
import { createMessageConnection, ResponseError, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";

const connection = createMessageConnection(
  new StreamMessageReader(process.stdin),
  new StreamMessageWriter(process.stdout),
);
const WINDOW = 200_000;
const sessions = new Map();
let counter = 0;
let shuttingDown = false;

connection.onRequest("initialize", (params) => {
  connection.sendNotification("standIn/initialized", params.initializationOptions);
  return {
    capabilities: {
      textDocumentSync: { openClose: true, change: 2 },
      workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
      experimental: {
        agent: { protocolVersion: 1, compact: { focus: true, undo: true }, sessions: true, steer: true },
      },
    },
  };
});
connection.onRequest("shutdown", () => {
  shuttingDown = true;
  return null;
});
connection.onNotification("exit", () => process.exit(shuttingDown ? 0 : 1));
connection.onNotification("workspace/didChangeConfiguration", ({ settings }) => {
  connection.sendNotification("standIn/settings", settings);
});

connection.onRequest("agent/newSession", ({ workspace }) => open(workspace));
connection.onRequest("agent/resumeSession", ({ sessionId, workspace }) => {
  const session = sessions.get(sessionId);
  if (session === undefined && sessionId !== "remembered")
    throw failed("sessionNotFound", `There is no session ${sessionId}.`);
  const opened = open(workspace, sessionId);
  return {
    ...opened,
    history: [
      { sessionUpdate: "user_message_chunk", content: { type: "text", text: "an earlier question" } },
      { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "an earlier answer" } },
    ],
  };
});
connection.onRequest("agent/sessions", () => ({ sessions: [] }));
connection.onRequest("agent/steer", () => ({ accepted: true }));
connection.onRequest("agent/context", ({ sessionId }) => {
  const session = sessions.get(sessionId);
  const categories = [
    ["instructions", "Instructions", Math.round(session.used * 0.2)],
    ["user", "Your words", session.used - Math.round(session.used * 0.2)],
  ];
  return {
    sessionId,
    total: { count: session.used, basis: "measured" },
    window: WINDOW,
    categories: categories.map(([id, label, count]) => ({ id, label, tokens: { count, basis: "estimated" } })),
    advice: [],
  };
});
connection.onRequest("agent/compact", async ({ sessionId, focus }) => {
  const session = sessions.get(sessionId);
  const before = { count: session.used, basis: "measured" };
  const event = { sessionId, compactionId: `compaction-${++counter}`, tier: "full", trigger: "manual", before };
  await connection.sendNotification("agent/compaction", { ...event, status: "started" });
  if (focus === "crash") process.exit(1);
  session.used = 9_000;
  const after = { count: session.used, basis: "estimated" };
  connection.sendNotification("agent/compaction", { ...event, status: "completed", after, messagesCovered: 12 });
  connection.sendNotification("agent/gauge", gauge(session));
  const summary = "## Goal\n\nMake the greeting friendly.";
  return { sessionId, outcome: "compacted", message: "Compacted.", before, after, summary, gauge: gauge(session) };
});
connection.onRequest("agent/undoCompaction", ({ sessionId }) => {
  const session = sessions.get(sessionId);
  session.used = 130_000;
  return { sessionId, undone: true, message: "The last compaction is undone.", gauge: gauge(session) };
});

connection.onRequest("agent/prompt", async ({ sessionId, prompt }, token) => {
  const session = sessions.get(sessionId);
  const turnId = `turn-${++counter}`;
  const text = typeof prompt === "string" ? prompt : prompt[0].text;
  const update = (value) =>
    connection.sendNotification("agent/update", { sessionId, turnId, seq: ++session.seq, update: value });
  const say = (part) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: part } });
  if (text === "no key") throw failed("modelUnavailable", "No key for the model.", "Set ANTHROPIC_API_KEY.");
  session.state = "running";
  connection.sendNotification("agent/gauge", gauge(session));
  update({ sessionUpdate: "user_message_chunk", content: { type: "text", text } });
  let stopReason = "end_turn";
  if (text.includes("edit")) stopReason = await edit(session, update);
  if (text.includes("slow")) stopReason = await untilCancelled(session, token);
  for (const part of ["The greeting", " is **friendly** now."]) say(part);
  session.state = "idle";
  session.used += 60_000;
  connection.sendNotification("agent/gauge", gauge(session));
  const usage = { inputTokens: session.used, outputTokens: 12, cacheReadTokens: 0, requests: 1 };
  return { sessionId, turnId, stopReason, text: "The greeting is **friendly** now.", usage, gauge: gauge(session) };
});
connection.onNotification("agent/cancel", ({ sessionId }) => sessions.get(sessionId)?.cancel?.());

async function edit(session, update) {
  const call = {
    toolCallId: `call-${++counter}`,
    title: "Edit greet.py",
    kind: "edit",
    status: "in_progress",
    rawInput: { path: "greet.py" },
    locations: [{ path: "/tmp/greet.py", line: 1 }],
  };
  update({ sessionUpdate: "tool_call", ...call });
  const diff = { type: "diff", path: "/tmp/greet.py", oldText: "print('hi')\n", newText: "print('hello, dear')\n" };
  const { outcome } = await connection.sendRequest("agent/requestPermission", {
    sessionId: session.sessionId,
    toolCall: { ...call, content: [diff] },
    options: [
      { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
      { optionId: "reject_once", name: "Reject", kind: "reject_once" },
    ],
  });
  const allowed = outcome.outcome === "selected" && outcome.optionId === "allow_once";
  const result = {
    type: "content",
    content: { type: "text", text: allowed ? "Edited." : `Refused: ${outcome.reason}` },
  };
  update({
    sessionUpdate: "tool_call_update",
    toolCallId: call.toolCallId,
    status: allowed ? "completed" : "failed",
    content: [result],
  });
  return outcome.outcome === "cancelled" ? "cancelled" : "end_turn";
}

function untilCancelled(session, token) {
  return new Promise((resolve) => {
    session.cancel = () => resolve("cancelled");
    token.onCancellationRequested(() => resolve("cancelled"));
  });
}

function open(workspace, sessionId = `session-${++counter}`) {
  const session = sessions.get(sessionId) ?? { sessionId, workspace, used: 0, seq: 0, state: "idle" };
  sessions.set(sessionId, session);
  return { sessionId, history: [], gauge: gauge(session) };
}

function gauge({ sessionId, workspace, used, state }) {
  const percent = Math.round((100 * used) / WINDOW);
  const level = percent >= 80 ? "full" : percent >= 60 ? "micro" : "ok";
  return {
    sessionId,
    workspace,
    used: { count: used, basis: used === 0 ? "estimated" : "measured" },
    window: WINDOW,
    fraction: used / WINDOW,
    percent,
    glyph: ["○", "◔", "◑", "◕", "●"][Math.min(4, Math.floor(percent / 20))],
    level,
    color: { ok: "green", micro: "yellow", full: "red" }[level],
    tiers: [
      { id: "micro", at: 120_000 },
      { id: "full", at: 160_000 },
    ],
    text: `${["○", "◔", "◑", "◕", "●"][Math.min(4, Math.floor(percent / 20))]} ${percent}%`,
    tooltip: `**Context** ${used} of ${WINDOW} tokens`,
    accessibleText: `Context ${percent} percent full`,
    model: "stand-in",
    cost: null,
    cacheShare: null,
    lastCompaction: null,
    state,
    warnings: [],
  };
}

function failed(kind, message, hint) {
  return new ResponseError(-32803, message, { kind, retryable: false, ...(hint ? { hint } : {}) });
}

connection.listen();
