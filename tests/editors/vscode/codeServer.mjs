// code-server with the packaged extension: the processes of an editor, and what they ask of other hosts.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";

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
