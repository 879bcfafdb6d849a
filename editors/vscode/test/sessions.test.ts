import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type * as vscode from "vscode";
import { PermissionQuestions } from "../src/permissions";
import type { Conversation } from "../src/sessions/conversation";
import { Conversations } from "../src/sessions/conversations";
import { failureOf } from "../src/sessions/failure";
import { promptOf, Turns } from "../src/sessions/turns";
import type { ChatEvent } from "../src/shared/chatMessages";
import { StandInConnection } from "./fakes/standIn";
import { workspace } from "./fakes/vscode";

const FOLDER = "file:///work/app";
let questions: PermissionQuestions;
let connection: StandInConnection;
let conversations: Conversations;
let turns: Turns;
let memory: Map<string, unknown>;

beforeEach(async () => {
  workspace.workspaceFolders = [{ uri: { toString: () => FOLDER, scheme: "file", fsPath: "/work/app" }, name: "app" }];
  questions = new PermissionQuestions();
  connection = await StandInConnection.start((params) => questions.ask(params));
  memory = new Map();
  conversations = new Conversations(connection, {
    get: (key: string, fallback: unknown) => memory.get(key) ?? fallback,
    update: async (key: string, value: unknown) => void memory.set(key, value),
  } as unknown as vscode.Memento);
  turns = new Turns(connection, questions);
});
afterEach(() => connection.stop());

async function opened(): Promise<Conversation> {
  await conversations.openAll(true);
  const conversation = conversations.of(FOLDER);
  assert.ok(conversation);
  return conversation;
}

function event(wanted: (event: ChatEvent) => boolean): Promise<ChatEvent> {
  return new Promise((resolve) => {
    const listening = conversations.onEvent(({ event: happened }) => {
      if (!wanted(happened)) return;
      listening.dispose();
      resolve(happened);
    });
  });
}

const kinds = (conversation: Conversation) => conversation.events.map(({ kind }) => kind);
const texts = (conversation: Conversation) =>
  conversation.events.flatMap((happened) => {
    if (happened.kind === "prompt") return [`> ${happened.text}`];
    if (happened.kind !== "update") return [];
    const { update } = happened;
    if (!("content" in update) || Array.isArray(update.content) || update.content?.type !== "text") return [];
    return [update.content.text];
  });

test("a prompt is shown once, its answer as one text, and the gauge follows", async () => {
  const conversation = await opened();
  await turns.prompt(conversation, "hello", []);
  assert.deepEqual(texts(conversation), ["> hello", "The greeting is **friendly** now."]);
  assert.deepEqual(kinds(conversation), ["prompt", "update", "turnEnded"]);
  assert.equal(conversation.gauge?.text, "◔ 30%");
  assert.equal(conversation.turnRunning, false);
});

test("permission is asked in the conversation, and the answer reaches the agent", async () => {
  const conversation = await opened();
  questions.listen({
    asked: ({ requestId }) => questions.answer(requestId, "reject_once", "too friendly"),
    settled: () => {},
  });
  await turns.prompt(conversation, "edit it", []);
  const refused = conversation.events.find(
    (happened) => happened.kind === "update" && happened.update.sessionUpdate === "tool_call_update",
  );
  assert.match(JSON.stringify(refused), /Refused: too friendly/);
});

test("cancelling ends the turn and its open question", async () => {
  const conversation = await opened();
  const asked = new Promise<void>((resolve) => questions.listen({ asked: () => resolve(), settled: () => {} }));
  const turn = turns.prompt(conversation, "edit it", []);
  await asked;
  turns.cancel(conversation);
  assert.equal((await turn)?.stopReason, "cancelled");
  assert.equal(questions.oldest(), undefined);
});

test("a prompt while a turn runs steers that turn", async () => {
  const conversation = await opened();
  const begun = event(({ kind }) => kind === "prompt");
  const turn = turns.prompt(conversation, "slow", []);
  await begun;
  assert.equal(await turns.prompt(conversation, "rather this", []), undefined);
  turns.cancel(conversation);
  await turn;
  assert.deepEqual(texts(conversation).slice(0, 2), ["> slow", "> rather this"]);
});

test("a failed prompt is part of the conversation, with what to do", async () => {
  const conversation = await opened();
  await turns.prompt(conversation, "no key", []);
  assert.deepEqual(conversation.events.at(-1), {
    kind: "failure",
    message: "No key for the model.",
    hint: "Set ANTHROPIC_API_KEY.",
    action: "setApiKey",
  });
  assert.equal(conversation.turnRunning, false);
});

test("what is to be done is said once, and a refused key can be set at once", () => {
  const data = { kind: "providerError", retryable: false, hint: "Check the API key." };
  assert.deepEqual(failureOf({ code: -32803, message: "Refused (401). Check the API key.", data }), {
    kind: "providerError",
    message: "Refused (401).",
    hint: "Check the API key.",
    action: "setApiKey",
  });
});

test("an answer that never came is told as that", () => {
  const { message } = failureOf({ code: -32097, message: "Pending response rejected since connection got disposed" });
  assert.equal(message, "The agent was stopped before it answered.");
});

test("a folder that is added gets its session, and the others keep theirs untouched", async () => {
  const conversation = await opened();
  const begun = event(({ kind }) => kind === "prompt");
  const turn = turns.prompt(conversation, "slow", []);
  await begun;
  const added = "file:///work/lib";
  workspace.workspaceFolders.push({ uri: { toString: () => added, scheme: "file", fsPath: "/work/lib" }, name: "lib" });
  await conversations.openAll(false);
  assert.notEqual(conversations.of(added)?.sessionId, conversation.sessionId);
  assert.ok(conversation.turnRunning);
  turns.cancel(conversation);
  await turn;
});

test("a compaction keeps its summary, and can be undone", async () => {
  const conversation = await opened();
  await turns.prompt(conversation, "hello", []);
  await turns.compact(conversation);
  await turns.undoCompaction(conversation);
  assert.deepEqual(kinds(conversation).slice(3), ["compaction", "compaction", "summary", "compactionUndone"]);
});

test("a server that dies while it compacts leaves no compaction that runs for ever", async () => {
  const conversation = await opened();
  await assert.rejects(turns.compact(conversation, "crash"));
  const statuses = conversation.events.map((happened) => happened.kind === "compaction" && happened.event.status);
  assert.deepEqual(statuses, ["started", "failed"]);
});

test("a reload goes on with the session it had", async () => {
  memory.set("agentLs.sessions", { [FOLDER]: "remembered" });
  const conversation = await opened();
  assert.equal(conversation.sessionId, "remembered");
  assert.deepEqual(texts(conversation), ["an earlier question", "an earlier answer"]);
});

test("a server that is started again takes nothing away from the conversation", async () => {
  const conversation = await opened();
  await turns.prompt(conversation, "no key", []);
  await conversations.openAll(true);
  assert.equal(conversations.of(FOLDER), conversation);
  assert.deepEqual(kinds(conversation), ["prompt", "failure"]);
});

test("a remembered session that is gone is replaced without a word", async () => {
  memory.set("agentLs.sessions", { [FOLDER]: "gone" });
  const conversation = await opened();
  assert.notEqual(conversation.sessionId, "gone");
  assert.ok(conversation.isEmpty);
  assert.deepEqual(memory.get("agentLs.sessions"), { [FOLDER]: conversation.sessionId });
});

test("files ride along as links; a plain prompt stays a string, for slash commands", () => {
  assert.equal(promptOf("/help", []), "/help");
  const range = { start: { line: 1, character: 0 }, end: { line: 3, character: 0 } };
  assert.deepEqual(promptOf("why", [{ uri: "file:///a.py", label: "a.py:2-3", range }]), [
    { type: "text", text: "why" },
    { type: "resource_link", uri: "file:///a.py", name: "a.py:2-3", range },
  ]);
});
