import assert from "node:assert/strict";
import { test } from "node:test";
import { type DiscoveryInput, findServer } from "../src/server/discovery";
import { describePlan, planInstallation } from "../src/server/installation";

function input(existing: string[], changes: Partial<DiscoveryInput> = {}): DiscoveryInput {
  const files = new Set(existing);
  return {
    setting: "",
    trusted: true,
    folders: ["/work/app"],
    selectedEnvironment: "/envs/chosen",
    privateEnvironment: "/storage/server",
    home: "/home/ada",
    env: { PATH: "/usr/bin:/opt/bin" },
    platform: "linux",
    isExecutable: (file) => files.has(file),
    ...changes,
  };
}

const EVERYWHERE = [
  "/envs/chosen/bin/agent-ls",
  "/work/app/.venv/bin/agent-ls",
  "/work/app/venv/bin/agent-ls",
  "/storage/server/bin/agent-ls",
  "/home/ada/.local/bin/agent-ls",
  "/opt/bin/agent-ls",
];

test("the server is looked for in this order", () => {
  for (let from = 0; from < EVERYWHERE.length; from++) {
    assert.equal(findServer(input(EVERYWHERE.slice(from)))?.command, EVERYWHERE[from]);
  }
  assert.equal(findServer(input([])), undefined);
});

test("a workspace that is not trusted gets none of its programs run", () => {
  const untrusted = { trusted: false, env: { PATH: "/work/app/bin:/opt/bin" } };
  const planted = [...EVERYWHERE, "/work/app/bin/agent-ls"].filter((file) => file.startsWith("/work"));
  assert.equal(findServer(input(planted, untrusted)), undefined);
  assert.equal(findServer(input([...planted, "/opt/bin/agent-ls"], untrusted))?.command, "/opt/bin/agent-ls");
});

test("the setting is used or nothing is: a typing mistake must not run another program", () => {
  assert.equal(findServer(input(["/x/agent-ls", ...EVERYWHERE], { setting: "/x/agent-ls" }))?.origin, "setting");
  assert.equal(findServer(input(EVERYWHERE, { setting: "/x/agent-ls" })), undefined);
  assert.equal(findServer(input(["/home/ada/agent-ls"], { setting: "~/agent-ls" }))?.command, "/home/ada/agent-ls");
});

test("relative entries of PATH are passed over", () => {
  assert.equal(findServer(input(["bin/agent-ls", "./agent-ls"], { env: { PATH: "bin:.:" } })), undefined);
});

test("installing uses uv where there is uv, and says exactly what it runs", () => {
  const plan = planInstallation(input(["/opt/bin/uv", "/usr/bin/python3"]));
  assert.equal(plan && describePlan(plan), "/opt/bin/uv tool install --upgrade 'agent-ls[all]'");
});

test("installing without uv makes an environment of the extension's own", () => {
  const plan = planInstallation(input(["/usr/bin/python3"], { privateEnvironment: "/my storage/server" }));
  assert.equal(
    plan && describePlan(plan),
    "/usr/bin/python3 -m venv '/my storage/server' && " +
      "'/my storage/server/bin/python' -m pip install --upgrade 'agent-ls[all]'",
  );
  assert.equal(planInstallation(input([])), undefined);
});
