import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import manifest from "../package.json";
import { pageHtml } from "../src/chat/pageHtml";
import { type CommandParts, registerCommands } from "../src/commands";
import { isKeyVariable } from "../src/server/apiKeys";
import { explicitSettings, serverSettingNames } from "../src/settings";
import { configured, registered } from "./fakes/vscode";

test("every contributed command exists, and every command is contributed", () => {
  const registration = registerCommands({} as CommandParts);
  const contributed = manifest.contributes.commands.map(({ command }) => command);
  assert.deepEqual([...registered.keys()].sort(), [...contributed].sort());
  registration.dispose();
});

test("a selection can be asked about from the context menu and from the keyboard", () => {
  const { menus, keybindings } = manifest.contributes;
  const [entry] = menus["editor/context"].filter(({ command }) => command === "agentLs.askAboutSelection");
  assert.match(entry?.when ?? "", /editorHasSelection/);
  const [binding] = keybindings.filter(({ command }) => command === "agentLs.askAboutSelection");
  assert.match(binding?.when ?? "", /editorHasSelection/);
});

test("what a repository must not set, it cannot", () => {
  const properties = manifest.contributes.configuration.flatMap((section) => Object.entries(section.properties));
  const scopes = Object.fromEntries(properties.map(([name, { scope }]) => [name, scope]));
  for (const name of ["serverPath", "model", "compactionModel", "permissionMode"]) {
    assert.equal(scopes[`agentLs.${name}`], "machine", name);
  }
});

test("only what a person has set is sent to the server", () => {
  const names = serverSettingNames(manifest);
  assert.ok(names.includes("compactionKeepRecentTokens"));
  assert.ok(!names.includes("serverPath"));
  configured.compactionKeepRecentTokens = { defaultValue: 20_000, globalValue: 5_000 };
  configured.memoryMaxLines = { defaultValue: 200 };
  configured.model = { globalValue: null };
  assert.deepEqual(explicitSettings(names), { compactionKeepRecentTokens: 5_000 });
});

test("only names of keys become environment variables of the server", () => {
  for (const name of ["ANTHROPIC_API_KEY", "HF_TOKEN"]) assert.ok(isKeyVariable(name), name);
  for (const name of ["PATH", "LD_PRELOAD", "PYTHONSTARTUP", "x_API_KEY", "_API_KEY"])
    assert.ok(!isKeyVariable(name), name);
});

test("the chat page lets in nothing but its own script, style and font", () => {
  const html = pageHtml({
    nonce: "n0nce",
    cspSource: "https://self",
    script: "https://self/chat.js",
    style: "https://self/chat.css",
  });
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1] ?? "";
  assert.match(policy, /^default-src 'none'/);
  assert.match(policy, /script-src 'nonce-n0nce'(;|$)/);
  assert.doesNotMatch(policy, /unsafe|\*|connect-src|frame-src/);
  assert.doesNotMatch(html, / on\w+=| style=/);
});

test("no source file is too long to read at once", () => {
  for (const folder of ["src", "webview"]) {
    for (const file of fs.readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts")) continue;
      assert.ok(fs.readFileSync(`${folder}/${file}`, "utf8").split("\n").length < 400, file);
    }
  }
});
