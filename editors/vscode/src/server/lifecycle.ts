import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { localFolders } from "../folders";
import { serverPath } from "../settings";
import type { Availability } from "../shared/chatMessages";
import type { AgentClient } from "./agentClient";
import type { ApiKeys } from "./apiKeys";
import { findServer, type ServerCommand } from "./discovery";
import { isExecutable } from "./executable";
import { offerInstallation } from "./installServer";

/** Starts the server when it may and can, and says why it does not. */
export class Lifecycle implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private readonly privateEnvironment: string;
  private offered = false;
  private starting: Promise<void> = Promise.resolve();
  private state: Availability = { state: "starting" };
  readonly onDidChange = this.emitter.event;

  constructor(
    private readonly client: AgentClient,
    private readonly keys: ApiKeys,
    private readonly output: vscode.LogOutputChannel,
    storage: vscode.Uri,
    /** Opens the sessions of the folders; of those without one only, unless the server is a new one. */
    private readonly openSessions: (newServer: boolean) => Promise<void>,
  ) {
    this.privateEnvironment = path.join(storage.fsPath, "server");
    this.subscriptions = [
      client.onReady(() => void this.ready(true)),
      client.onStarting(() => this.set({ state: "starting" })),
      client.onStopped(() => this.set({ state: "failed", message: "The agent has stopped." })),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.start()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => void (this.client.running ? this.ready(false) : this.start())),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("agentLs.serverPath")) void this.start();
      }),
    ];
  }

  get availability(): Availability {
    return this.state;
  }

  /** Starts, or starts again; one after the other. Never rejects: what goes wrong is the availability. */
  start(): Promise<void> {
    this.starting = this.starting.then(() => this.startNow());
    return this.starting;
  }

  private async startNow(): Promise<void> {
    if (!vscode.workspace.isTrusted) return this.set({ state: "untrusted" });
    if (localFolders().length === 0) return this.set({ state: "noFolder" });
    this.set({ state: "starting" });
    const server = await this.find();
    if (server === undefined) {
      this.set({ state: "missing" });
      // Not waited for: a message that nobody answers must not hold up the next start.
      if (!this.offered) void this.offerInstallation();
      return;
    }
    this.output.info(`starting ${server.command} (${server.origin})`);
    try {
      await this.client.start({ command: server.command, environment: await this.keys.environment() });
    } catch (error) {
      this.output.error(`the server did not start: ${String(error)}`);
      this.set({ state: "failed", message: `${server.command} did not start. The log says why.` });
    }
  }

  /** Shows once that the server is missing; by hand as often as wanted. */
  async offerInstallation(): Promise<void> {
    this.offered = true;
    if (await offerInstallation(this.privateEnvironment, this.output)) await this.start();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.emitter.dispose();
  }

  private async ready(newServer: boolean): Promise<void> {
    try {
      await this.openSessions(newServer);
      this.set({ state: "ready" });
    } catch (error) {
      this.output.error(`no session could be opened: ${String(error)}`);
      this.set({ state: "failed", message: error instanceof Error ? error.message : String(error) });
    }
  }

  private async find(): Promise<ServerCommand | undefined> {
    return findServer({
      setting: serverPath(),
      trusted: vscode.workspace.isTrusted,
      folders: localFolders().map(({ uri }) => uri.fsPath),
      selectedEnvironment: await selectedEnvironment(),
      privateEnvironment: this.privateEnvironment,
      home: os.homedir(),
      env: process.env,
      platform: process.platform,
      isExecutable,
    });
  }

  private set(state: Availability): void {
    this.state = state;
    this.emitter.fire();
  }
}

/** The environment chosen in the Python extension, where that is installed (its public API). */
async function selectedEnvironment(): Promise<string | undefined> {
  const python = vscode.extensions.getExtension<{
    environments?: {
      getActiveEnvironmentPath(): unknown;
      resolveEnvironment(path: unknown): Promise<{ environment?: { folderUri?: vscode.Uri } } | undefined>;
    };
  }>("ms-python.python");
  if (python === undefined) return undefined;
  try {
    const { environments } = await python.activate();
    const resolved = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath());
    return resolved?.environment?.folderUri?.fsPath;
  } catch {
    // Another extension's failure must not keep the agent from starting.
    return undefined;
  }
}
