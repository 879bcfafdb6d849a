import * as vscode from "vscode";
import type { LanguageClient, LanguageClientOptions } from "vscode-languageclient/node";
import {
  type CompactionEvent,
  type Gauge,
  Method,
  type PermissionOutcome,
  PROTOCOL_VERSION,
  type RequestPermissionParams,
  type UpdateNotification,
} from "../shared/protocol";
import type { AgentConnection } from "./agentConnection";

/** VS Code ends the extension host 5 s after `deactivate` starts; the server gets what it can of them. */
export const STOP_TIMEOUT_MS = 4500;

type Library = typeof import("vscode-languageclient/node");

const CRASH_SPAN_MS = 3 * 60_000;
const MOST_CRASHES = 4;

export interface ServerStart {
  command: string;
  /** Added to the environment of the server; holds keys, so it is never logged. */
  environment: Record<string, string>;
}

export type PermissionHandler = (
  params: RequestPermissionParams,
  token: vscode.CancellationToken,
) => Promise<PermissionOutcome>;

/** The connection to one `agent-ls` process after another; its events outlive a restart. */
export class AgentClient implements AgentConnection, vscode.Disposable {
  private readonly updateEmitter = new vscode.EventEmitter<UpdateNotification>();
  private readonly gaugeEmitter = new vscode.EventEmitter<Gauge>();
  private readonly compactionEmitter = new vscode.EventEmitter<CompactionEvent>();
  private readonly readyEmitter = new vscode.EventEmitter<void>();
  private readonly startingEmitter = new vscode.EventEmitter<void>();
  private readonly stoppedEmitter = new vscode.EventEmitter<void>();
  private library: Library | undefined;
  private client: LanguageClient | undefined;
  private served = false;

  readonly onUpdate = this.updateEmitter.event;
  readonly onGauge = this.gaugeEmitter.event;
  readonly onCompaction = this.compactionEmitter.event;
  /** A server has answered `initialize`: after a start, a restart, or a crash the client recovered from. */
  readonly onReady = this.readyEmitter.event;
  /** A server is being started, by us or by the client after a crash. */
  readonly onStarting = this.startingEmitter.event;
  /** The server is gone, wanted or not. */
  readonly onStopped = this.stoppedEmitter.event;

  constructor(
    private readonly output: vscode.LogOutputChannel,
    private readonly settings: () => Record<string, unknown>,
    private readonly askPermission: PermissionHandler,
  ) {}

  get running(): boolean {
    return this.client !== undefined && this.client.state === this.library?.State.Running;
  }

  /** Starts a server; a running one is stopped first. Rejects when it cannot be started. */
  async start({ command, environment }: ServerStart): Promise<void> {
    await this.stop();
    this.served = false;
    // Loading it takes longer than the rest of the activation together.
    this.library = await import("vscode-languageclient/node");
    const { LanguageClient, State, TransportKind } = this.library;
    const executable = {
      command,
      args: ["serve"],
      transport: TransportKind.stdio,
      options: { env: { ...process.env, ...environment } },
    };
    const client = new LanguageClient("agentLs", "Agent", executable, this.options(this.library));
    this.client = client;
    client.onDidChangeState(({ newState }) => {
      if (this.client !== client) return;
      if (newState === State.Running) {
        this.served = true;
        this.readyEmitter.fire();
      }
      if (newState === State.Starting) this.startingEmitter.fire();
      if (newState === State.Stopped) this.stoppedEmitter.fire();
    });
    client.onNotification(Method.update, (update: UpdateNotification) => this.updateEmitter.fire(update));
    client.onNotification(Method.gauge, (gauge: Gauge) => this.gaugeEmitter.fire(gauge));
    client.onNotification(Method.compaction, (event: CompactionEvent) => this.compactionEmitter.fire(event));
    client.onRequest(
      Method.requestPermission,
      async (params: RequestPermissionParams, token: vscode.CancellationToken) => ({
        outcome: await this.askPermission(params, token),
      }),
    );
    await client.start();
  }

  async request<Result>(method: string, params: object, token?: vscode.CancellationToken): Promise<Result> {
    if (this.client === undefined || !this.running) throw new Error("The agent is not running.");
    // A token that is passed as undefined would become a second parameter of the request.
    if (token === undefined) return this.client.sendRequest<Result>(method, params);
    return this.client.sendRequest<Result>(method, params, token);
  }

  notify(method: string, params: object): void {
    if (this.running) void this.client?.sendNotification(method, params);
  }

  /** Shuts the server down; resolves when it is gone or its time is over. */
  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client === undefined) return;
    try {
      await client.stop(STOP_TIMEOUT_MS);
    } catch (error) {
      this.output.warn(`the server did not stop cleanly: ${String(error)}`);
    }
  }

  dispose(): void {
    for (const emitter of [this.updateEmitter, this.gaugeEmitter, this.compactionEmitter]) emitter.dispose();
    for (const emitter of [this.readyEmitter, this.startingEmitter, this.stoppedEmitter]) emitter.dispose();
  }

  /** A server that served and died is started again, a few times; one that never came up is not tried again. */
  private errorHandler({ CloseAction, ErrorAction }: Library): NonNullable<LanguageClientOptions["errorHandler"]> {
    let crashes: number[] = [];
    return {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        const now = Date.now();
        crashes = [...crashes.filter((at) => now - at < CRASH_SPAN_MS), now];
        const restart = this.served && crashes.length < MOST_CRASHES;
        this.output.error(`the server ended by itself${restart ? " and is started again" : ""}`);
        return { action: restart ? CloseAction.Restart : CloseAction.DoNotRestart, handled: true };
      },
    };
  }

  private options(library: Library): LanguageClientOptions {
    const log = (input: NodeJS.ReadableStream) => {
      input.on("data", (data: Buffer) => this.output.append(data.toString()));
    };
    return {
      documentSelector: [{ scheme: "file" }],
      outputChannel: this.output,
      stdioOptions: { stdout: log, stderr: log },
      initializationOptions: { agent: { protocolVersion: PROTOCOL_VERSION, permission: true } },
      errorHandler: this.errorHandler(library),
      initializationFailedHandler: () => false,
      synchronize: { configurationSection: "agentLs" },
      middleware: {
        workspace: {
          // Only what a person has set is sent, once at the start and at every change.
          didChangeConfiguration: async () => {
            await this.client?.sendNotification(library.DidChangeConfigurationNotification.type, {
              settings: { agentLs: this.settings() },
            });
          },
          configuration: ({ items }) => items.map(() => this.settings()),
        },
      },
    };
  }
}
