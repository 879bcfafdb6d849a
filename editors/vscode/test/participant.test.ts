import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActiveFolder } from "../src/folders";
import { registerParticipant } from "../src/participant";
import type { Conversations } from "../src/sessions/conversations";
import type { Turns } from "../src/sessions/turns";

type Handler = (request: unknown, context: unknown, stream: unknown, token: unknown) => Promise<object>;

const folder = { current: undefined } as ActiveFolder;
const conversations = { of: () => undefined } as unknown as Conversations;
const turns = {} as Turns;

test("an editor without the Chat API gets no participant, and nothing fails", () => {
  assert.equal(registerParticipant(folder, conversations, turns, undefined), undefined);
  assert.equal(registerParticipant(folder, conversations, turns, {}), undefined);
});

test("where there is the Chat API the participant answers, without an agent too", async () => {
  const handlers = new Map<string, Handler>();
  const participant = { iconPath: undefined as unknown, dispose: () => {} };
  const chat = {
    createChatParticipant: (id: string, handler: Handler) => {
      handlers.set(id, handler);
      return participant;
    },
  };
  assert.equal(registerParticipant(folder, conversations, turns, chat as never), participant);
  const said: string[] = [];
  const stream = {
    markdown: (text: string) => said.push(text),
    button: ({ title }: { title: string }) => said.push(title),
  };
  await handlers.get("agentLs.participant")?.({ prompt: "hi" }, {}, stream, {});
  assert.deepEqual(said, ["The agent is not running in this workspace.", "Open Agent"]);
});
