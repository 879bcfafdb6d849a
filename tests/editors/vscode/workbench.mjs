// A VS Code workbench in a browser: code-server with the packaged extension, driven by playwright-core in Chromium.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { chromium } from "playwright-core";

export const GAUGE = "agent-ls.agent-ls.agentLs.gauge";
/** The workbench's class has the name of the theme's file. */
const THEME_FILES = {
  "Dark Modern": "dark_modern",
  "Light Modern": "light_modern",
  "Dark High Contrast": "hc_black",
  "Light High Contrast": "hc_light",
};
const CHROMIUM_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--force-prefers-reduced-motion",
];
const SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "update.mode": "none",
  "files.autoSave": "off", // as on the desktop
  "workbench.enableExperiments": false,
  "chat.commandCenter.enabled": false,
  "window.commandCenter": false,
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "never",
  "git.openRepositoryInParentFolders": "never",
};

/** Starts code-server on a free port with the extension installed; stop it with `stop()`. */
export async function startCodeServer({ entry, root, vsix, workspace, settings = {}, env = {}, trust = true }) {
  const [data, extensions, home] = ["data", "extensions", "home"].map((name) => path.join(root, name));
  for (const folder of [path.join(data, "User"), extensions, home]) fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(data, "User", "settings.json"), JSON.stringify({ ...SETTINGS, ...settings }, null, 2));
  const trap = await startProxyTrap();
  const environment = {
    ...process.env,
    ...trap.environment,
    EXTENSIONS_GALLERY: "{}",
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, ".config"),
    XDG_DATA_HOME: path.join(home, ".local", "share"),
    XDG_CACHE_HOME: path.join(home, ".cache"),
    ...env,
  };
  const where = ["--user-data-dir", data, "--extensions-dir", extensions];
  const installed = spawnSync("node", [entry, ...where, "--install-extension", vsix], { env: environment, encoding: "utf8" });
  if (installed.status !== 0) throw new Error(`the extension was not installed: ${installed.stdout}${installed.stderr}`);
  const port = await freePort();
  const flags = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"];
  if (trust) flags.push("--disable-workspace-trust");
  const log = fs.openSync(path.join(root, "code-server.log"), "w");
  const child = spawn("node", [entry, ...where, ...flags, "--bind-addr", `127.0.0.1:${port}`, workspace], {
    env: environment,
    stdio: ["ignore", log, log],
    detached: true,
  });
  await answering(port, child);
  return {
    port,
    url: `http://127.0.0.1:${port}/?${workspace.endsWith(".code-workspace") ? "workspace" : "folder"}=${encodeURIComponent(workspace)}`,
    data,
    /** What any of its processes asked of another host, through the proxy its environment names. */
    outside: trap.requests,
    /** The process of the agent's server. */
    serverProcess: () => descendant(child.pid, /agent-ls\0serve\0/),
    stop() {
      trap.close();
      // Its own process group: the extension host and the agent end with it.
      process.kill(-child.pid, "SIGTERM");
    },
  };
}

/** A proxy that answers nobody and notes what it was asked for. */
async function startProxyTrap() {
  const requests = [];
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      requests.push(data.toString().split("\r\n")[0]);
      socket.destroy();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const environment = { NO_PROXY: "127.0.0.1,localhost", no_proxy: "127.0.0.1,localhost" };
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]) {
    environment[name] = `http://127.0.0.1:${server.address().port}`;
  }
  return { requests, environment, close: () => server.close() };
}

/** The one process below `ancestor` whose command line matches. */
function descendant(ancestor, commandLine) {
  const parents = new Map();
  for (const name of fs.readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const [, parent] = fs.readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1).split(" ");
      parents.set(Number(name), { parent: Number(parent), line: fs.readFileSync(`/proc/${name}/cmdline`, "utf8") });
    } catch {
      // It has ended in the meantime.
    }
  }
  const below = (pid) => pid === ancestor || (parents.has(pid) && below(parents.get(pid).parent));
  const found = [...parents].filter(([pid, { line }]) => commandLine.test(line) && below(pid)).map(([pid]) => pid);
  if (found.length !== 1) throw new Error(`${found.length} processes below ${ancestor} match ${commandLine}`);
  return found[0];
}

async function answering(port, child) {
  for (let attempt = 0; attempt < 240; attempt++) {
    if (child.exitCode !== null) throw new Error(`code-server ended with ${child.exitCode}`);
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error("code-server did not answer");
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** The browser with its one page; collects page errors and every host outside loopback that was asked for. */
export class Workbench {
  static async open({ root, url, viewport = { width: 1280, height: 800 } }) {
    const context = await chromium.launchPersistentContext(fs.mkdtempSync(path.join(root, "chromium-")), {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      headless: true,
      viewport,
      args: CHROMIUM_FLAGS,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const workbench = new Workbench(context, context.pages()[0] ?? (await context.newPage()));
    await workbench.goto(url);
    return workbench;
  }

  errors = [];
  outside = new Set();

  constructor(context, page) {
    this.context = context;
    this.page = page;
    page.on("pageerror", (error) => this.errors.push(String(error)));
    page.on("console", (message) => {
      // What the chat page's policy kept out is an error of ours too.
      if (/Content Security Policy/.test(message.text()) && /agentLs/.test(message.location().url)) this.errors.push(message.text());
    });
    page.on("websocket", (socket) => this.note(socket.url().replace(/^ws/, "http")));
    // A webview's own files have addresses of another host, which the editor's service worker answers by itself.
    page.on("response", (response) => response.fromServiceWorker() || this.note(response.url()));
    page.on("requestfailed", (request) => this.note(request.url()));
  }

  note(url) {
    const { hostname, protocol, host } = new URL(url);
    if (protocol.startsWith("http") && hostname !== "127.0.0.1") this.outside.add(host);
  }

  async goto(url) {
    await this.page.goto(url, { waitUntil: "domcontentloaded" });
    await this.page.waitForSelector(".monaco-workbench .statusbar", { timeout: 60_000 });
  }

  async reload() {
    await this.page.reload({ waitUntil: "domcontentloaded" });
    await this.page.waitForSelector(".monaco-workbench .statusbar", { timeout: 60_000 });
  }

  get gauge() {
    return this.page.locator(`[id="${GAUGE}"]`);
  }

  /** Waits until the gauge's text matches. */
  async gaugeShows(pattern, timeout = 30_000) {
    await this.page.waitForFunction(
      ([id, source]) => new RegExp(source).test(document.getElementById(id)?.textContent ?? ""),
      [GAUGE, pattern.source],
      { timeout },
    );
    return (await this.gauge.textContent()).trim();
  }

  async gaugeLabel() {
    return this.gauge.locator("a").first().getAttribute("aria-label");
  }

  /** Runs a command as a person with a keyboard does: palette, its name, down to the row that is exactly it. */
  async palette(command) {
    await this.page.keyboard.press("F1");
    const box = this.page.locator(".quick-input-widget input.input");
    await box.waitFor();
    await box.fill(`>${command}`);
    const rows = this.page.locator(".quick-input-list .monaco-list-row");
    const escaped = command.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const wanted = rows.filter({ has: this.page.locator(".label-name", { hasText: new RegExp(`^${escaped}…?$`) }) }).first();
    await wanted.waitFor();
    for (let down = 0; !/\bfocused\b/.test(await wanted.getAttribute("class")); down++) {
      if (down > 20) throw new Error(`the row of ${command} is not reached from the keyboard`);
      await this.page.keyboard.press("ArrowDown");
    }
    await this.page.keyboard.press("Enter");
  }

  /** Opens a file by its name, from the keyboard. */
  async openFile(name) {
    await this.page.keyboard.press("Control+KeyP");
    const box = this.page.locator(".quick-input-widget input.input");
    await box.waitFor();
    await box.fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.locator(".tab.active", { hasText: name }).waitFor();
    await this.page.locator(".editor-instance .monaco-editor.focused").waitFor();
  }

  /** The chat page: the innermost frame of its view. */
  async chat() {
    for (let attempt = 0; attempt < 200; attempt++) {
      const frame = await this.chatFrame();
      if (frame !== undefined) return frame;
      await this.page.waitForTimeout(100);
    }
    throw new Error("the chat page did not come up");
  }

  async chatFrame() {
    for (const frame of this.page.frames()) {
      if (await frame.locator("#composer textarea").count().catch(() => 0)) return frame;
    }
    return undefined;
  }

  /** Opens the chat from the palette; it has the keyboard then. */
  async openChat() {
    const known = await this.chatFrame();
    await known?.evaluate(() => {
      window.focusAsked = new Promise((resolve) => window.addEventListener("message", ({ data }) => data.type === "focus" && resolve()));
    });
    await this.palette("Agent: Open Chat");
    const chat = known ?? (await this.chat());
    await chat.locator("#composer textarea").waitFor();
    await known?.evaluate(() => window.focusAsked);
    return chat;
  }

  /** Changes the theme from the palette; the focus comes back to where it was. */
  async theme(label) {
    await this.palette("Preferences: Color Theme");
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: "Dark Modern" }).first().waitFor();
    await this.page.locator(".quick-input-widget input.input").fill(label);
    await this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: label }).waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.locator(`.monaco-workbench[class*="${THEME_FILES[label]}"]`).waitFor({ timeout: 10_000 });
    // The chat page gets the colours in a message of their own.
    await this.page.waitForTimeout(300);
  }

  async close() {
    await this.context.close();
  }
}
