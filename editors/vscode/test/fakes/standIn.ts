import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { CancellationToken } from "vscode";
import {
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-jsonrpc/node";
import type { AgentConnection } from "../../src/server/agentConnection";
import {
  type CompactionEvent,
  type Gauge,
  Method,
  type PermissionOutcome,
  type RequestPermissionParams,
  type UpdateNotification,
} from "../../src/shared/protocol";
import { EventEmitter } from "./vscode";

/** The connection over a real pipe to test/standIn/server.mjs. */
export class StandInConnection implements AgentConnection {
  private readonly updates = new EventEmitter<UpdateNotification>();
  private readonly gauges = new EventEmitter<Gauge>();
  private readonly compactions = new EventEmitter<CompactionEvent>();
  readonly onUpdate = this.updates.event as AgentConnection["onUpdate"];
  readonly onGauge = this.gauges.event as AgentConnection["onGauge"];
  readonly onCompaction = this.compactions.event as AgentConnection["onCompaction"];
  private readonly stopped = new EventEmitter<void>();
  readonly onStopped = this.stopped.event as AgentConnection["onStopped"];

  private constructor(
    private readonly child: ChildProcess,
    private readonly connection: MessageConnection,
  ) {}

  static async start(ask: (params: RequestPermissionParams) => Promise<PermissionOutcome>): Promise<StandInConnection> {
    const child = spawn(process.execPath, [path.resolve("test/standIn/server.mjs")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    const made = new StandInConnection(child, connection);
    connection.onNotification(Method.update, (update: UpdateNotification) => made.updates.fire(update));
    connection.onNotification(Method.gauge, (gauge: Gauge) => made.gauges.fire(gauge));
    connection.onNotification(Method.compaction, (event: CompactionEvent) => made.compactions.fire(event));
    connection.onRequest(Method.requestPermission, async (params: RequestPermissionParams) => ({
      outcome: await ask(params),
    }));
    child.on("close", () => {
      made.stopped.fire();
      connection.dispose();
    });
    connection.listen();
    await connection.sendRequest("initialize", { initializationOptions: {} });
    return made;
  }

  request<Result>(method: string, params: object, token?: CancellationToken): Promise<Result> {
    if (token === undefined) return this.connection.sendRequest(method, params);
    return this.connection.sendRequest(method, params, token);
  }

  notify(method: string, params: object): void {
    void this.connection.sendNotification(method, params);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    await this.connection.sendRequest("shutdown");
    const gone = once(this.child, "exit");
    await this.connection.sendNotification("exit");
    await gone;
  }
}
