// VS Code's workbench in a browser, driven by playwright-core in Chromium as a person drives it.
import fs from "node:fs";
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

  /** The input that these keys open. A key that meets the focus on its way into or out of a frame is lost: then again. */
  async quickInput(keys) {
    const box = this.page.locator(".quick-input-widget input.input");
    for (let attempt = 1; ; attempt++) {
      await this.page.keyboard.press(keys);
      try {
        await box.waitFor({ timeout: 8_000 });
        return box;
      } catch (error) {
        if (attempt === 4) throw error;
      }
    }
  }

  /** Runs a command as a person with a keyboard does: palette, its name, down to the row that is exactly it. */
  async palette(command) {
    const box = await this.quickInput("F1");
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
    const box = await this.quickInput("Control+KeyP");
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
