import type { FailureAction } from "../shared/chatMessages";
import type { FailureData } from "../shared/protocol";

const REQUEST_CANCELLED = -32800;
/** vscode-jsonrpc's own: the connection went away before the answer came. */
const CONNECTION_GONE = new Set([-32097, -32099]);

export interface Failure {
  kind: FailureData["kind"] | "cancelled" | "other";
  message: string;
  hint?: string;
  action?: FailureAction;
}

const ACTIONS: Partial<Record<Failure["kind"], FailureAction>> = {
  modelUnavailable: "setApiKey",
  contextTooLarge: "newSession",
  sessionLocked: "newSession",
  other: "showLog",
};

/** What a person is told about a rejected request. */
export function failureOf(error: unknown): Failure {
  const {
    code,
    message = String(error),
    data,
  } = error as { code?: number; message?: string; data?: Partial<FailureData> };
  if (code !== undefined && CONNECTION_GONE.has(code)) {
    return { kind: "other", message: "The agent was stopped before it answered.", action: "showLog" };
  }
  const kind = code === REQUEST_CANCELLED ? "cancelled" : (data?.kind ?? "other");
  const hint = data?.hint;
  // A provider that refuses a key says so in its own words, under the kind of all its errors.
  const action = /\bAPI key\b/i.test(hint ?? "") ? "setApiKey" : ACTIONS[kind];
  return {
    kind,
    // For clients that show only the message it ends in the hint; it is said once here.
    message: hint !== undefined && message.endsWith(hint) ? message.slice(0, -hint.length).trimEnd() : message,
    ...(hint ? { hint } : {}),
    ...(action === undefined ? {} : { action }),
  };
}
