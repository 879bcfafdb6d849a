// The first minutes with the extension: a workspace nobody trusts yet, no server, no key, two folders, a hidden chat.
// Run by test_vscode.py.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { faults } from "./accessibility.mjs";
import { startCodeServer } from "./codeServer.mjs";
import { steps } from "./steps.mjs";
import { Workbench } from "./workbench.mjs";

const { entry, vsix, server, root, artefacts, environment } = JSON.parse(process.env.JOURNEY);
const { ANTHROPIC_API_KEY: key, OPENAI_API_KEY: _, ...withoutKeys } = environment;
const programs = path.join(root, "programs");
const planted = path.join(root, "planted-was-run");
let codeServer;
let workbench;
let chat;

before(async () => {
  for (const name of ["alpha", "beta"]) {
    fs.mkdirSync(path.join(root, name, ".venv", "bin"), { recursive: true });
    fs.writeFileSync(path.join(root, name, `${name}.py`), `print("${name}")\n`);
  }
  // What a hostile repository may bring; it must not be run before anybody trusts it.
  script(path.join(root, "alpha", ".venv", "bin", "agent-ls"), `touch ${planted}`);
  // `uv` as the extension calls it, without the network.
  fs.mkdirSync(programs);
  script(path.join(programs, "uv"), `mkdir -p "$HOME/.local/bin"\nln -sf ${server} "$HOME/.local/bin/agent-ls"\necho installed: "$@"`);
  // The extension host has the environment of a login shell.
  fs.mkdirSync(path.join(root, "home"));
  fs.writeFileSync(path.join(root, "home", ".profile"), `export PATH="${programs}:/usr/local/bin:/usr/bin:/bin"\n`);
  const workspace = path.join(root, "both.code-workspace");
  fs.writeFileSync(workspace, JSON.stringify({ folders: [{ path: "alpha" }, { path: "beta" }] }));
  codeServer = await startCodeServer({
    entry,
    root,
    vsix,
    workspace,
    trust: false,
    settings: { "workbench.colorTheme": "Default Dark Modern", "agentLs.model": "anthropic:claude-sonnet-4-5" },
    env: { ...withoutKeys, ANTHROPIC_API_KEY: "sk-of-another-account" },
  });
  workbench = await Workbench.open({ root, url: codeServer.url });
});

after(async () => {
  await workbench?.close();
  codeServer?.stop();
});

const step = steps(artefacts, () => workbench);
const prompt = () => chat.getByRole("textbox", { name: "Prompt" });
const log = () => chat.getByRole("log", { name: "Conversation with the agent" });

function script(file, body) {
  fs.writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
}

async function say(text) {
  await prompt().fill(text);
  await prompt().press("Enter");
}

step("nothing starts in a workspace that is not trusted, and the chat says so", async () => {
  await workbench.gaugeShows(/restricted/);
  chat = await workbench.openChat();
  await chat.getByText("off until you trust this workspace").waitFor();
  assert.equal(await prompt().isDisabled(), true);
  assert.deepEqual(await faults(chat), []);
  assert.equal(fs.existsSync(planted), false);
});

step("after trust a missing server is one message, which says what Install runs", async () => {
  fs.rmSync(path.join(root, "alpha", ".venv"), { recursive: true });
  await workbench.gauge.click();
  await workbench.page.getByRole("button", { name: "Trust", exact: true }).first().click();
  await workbench.gaugeShows(/not installed/);
  const message = workbench.page.locator(".notification-list-item", { hasText: "Install runs:" });
  await message.waitFor();
  assert.ok((await message.textContent()).includes(`${programs}/uv tool install --upgrade 'agent-ls[all]'`));
  assert.equal(await message.count(), 1);
});

step("Install runs just that, and the agent starts", async () => {
  await workbench.page.getByRole("button", { name: "Install", exact: true }).click();
  assert.match(await workbench.gaugeShows(/0%/, 60_000), /^(alpha|beta): /);
});

step("the gauge follows the folder of the active editor", async () => {
  for (const name of ["beta", "alpha"]) {
    await workbench.openFile(`${name}.py`);
    await workbench.gaugeShows(new RegExp(`^${name}: .*0%`));
  }
});

step("a refused key is said in the conversation, with the way to set another", async () => {
  chat = await workbench.openChat();
  await say("Hello");
  await log().getByRole("article", { name: "Error" }).waitFor();
  assert.deepEqual(await faults(chat), []);
  await log().getByRole("article", { name: "Error" }).getByRole("button", { name: "Set API Key…" }).click();
  await workbench.page.locator(".quick-input-list .monaco-list-row", { hasText: "ANTHROPIC_API_KEY" }).click();
  const input = workbench.page.locator('.quick-input-widget input[type="password"]');
  await input.fill(key);
  await input.press("Enter");
});

step("the key reaches the server, and no settings file, log or other file", async () => {
  await workbench.gaugeShows(/0%/, 60_000);
  chat = await workbench.openChat();
  await say("Hello again");
  await log().getByText("You asked about: Hello again").waitFor({ timeout: 60_000 });
  // No file at all but the browser's own, where code-server keeps its secret store.
  for (const file of fs.readdirSync(root, { recursive: true, withFileTypes: true })) {
    const name = path.join(file.parentPath ?? file.path, file.name);
    if (file.isFile() && !name.includes("/chromium-")) assert.ok(!fs.readFileSync(name).includes(key), name);
  }
});

step("a question that comes while the chat is hidden is asked on top, and only reading it is one key away", async () => {
  await say("Please run it");
  await workbench.page.keyboard.press("Control+Shift+KeyE");
  const rows = workbench.page.locator(".quick-input-list .monaco-list-row");
  await rows.filter({ hasText: "Review in Chat" }).waitFor({ timeout: 60_000 });
  assert.match(await rows.first().textContent(), /Review in Chat/);
  assert.match(await workbench.page.locator(".quick-input-title").textContent(), /Agent asks: /);
  await workbench.page.keyboard.press("Enter");
  chat = await workbench.chat();
  const question = chat.getByRole("group", { name: /The agent asks/ });
  await question.getByRole("textbox", { name: /Reason for a refusal/ }).fill("not on this machine");
  await question.getByRole("button", { name: "Reject" }).click();
  await log().getByText("Reject: not on this machine").waitFor();
  await log().getByText("They said no").waitFor({ timeout: 60_000 });
});

test("no page error, and nothing was asked of another host", () => {
  assert.deepEqual(workbench.errors, []);
  assert.deepEqual([...workbench.outside], []);
  assert.deepEqual(codeServer.outside, []);
});
