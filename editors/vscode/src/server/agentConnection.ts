import type { CancellationToken, Event } from "vscode";
import type { CompactionEvent, Gauge, UpdateNotification } from "../shared/protocol";

/** What the rest of the extension asks of the connection to the agent. */
export interface AgentConnection {
  /** Rejects with a ResponseError, or when no server runs. */
  request<Result>(method: string, params: object, token?: CancellationToken): Promise<Result>;
  notify(method: string, params: object): void;
  readonly onUpdate: Event<UpdateNotification>;
  readonly onGauge: Event<Gauge>;
  readonly onCompaction: Event<CompactionEvent>;
  /** The server is gone, wanted or not. */
  readonly onStopped: Event<void>;
}
