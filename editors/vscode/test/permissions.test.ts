import assert from "node:assert/strict";
import { test } from "node:test";
import { PermissionQuestions } from "../src/permissions";
import type { RequestPermissionParams } from "../src/shared/protocol";

const PARAMS: RequestPermissionParams = {
  sessionId: "s",
  toolCall: { toolCallId: "c", title: "Run make", kind: "execute", status: "pending", rawInput: {}, locations: [] },
  options: [
    { optionId: "yes", name: "Allow once", kind: "allow_once" },
    { optionId: "no", name: "Reject", kind: "reject_once" },
  ],
};

function asked() {
  const questions = new PermissionQuestions();
  const settled: (string | undefined)[] = [];
  questions.listen({ asked: () => {}, settled: (_question, option) => settled.push(option?.optionId) });
  const outcome = questions.ask(PARAMS);
  const id = questions.oldest()?.requestId ?? "";
  return { questions, settled, outcome, id };
}

test("the first answer counts, wherever the second one is given", async () => {
  const { questions, settled, outcome, id } = asked();
  assert.equal(questions.answer(id, "no", " not now "), true);
  assert.equal(questions.answer(id, "yes"), false);
  assert.deepEqual(await outcome, { outcome: "selected", optionId: "no", reason: "not now" });
  assert.deepEqual(settled, ["no"]);
});

test("an option that was not offered is no answer", () => {
  const { questions, id } = asked();
  assert.equal(questions.answer(id, "always"), false);
  assert.equal(questions.oldest()?.requestId, id);
});

test("a reason goes only with a refusal", async () => {
  const { questions, outcome, id } = asked();
  questions.answer(id, "yes", "because");
  assert.deepEqual(await outcome, { outcome: "selected", optionId: "yes" });
});

test("a turn that ends takes its questions with it, and no other's", async () => {
  const { questions, outcome } = asked();
  const other = questions.ask({ ...PARAMS, sessionId: "t" });
  questions.cancelAll("s");
  assert.deepEqual(await outcome, { outcome: "cancelled" });
  assert.equal(questions.oldest()?.sessionId, "t");
  questions.cancelAll();
  assert.deepEqual(await other, { outcome: "cancelled" });
});
