import type { FailureAction } from "../shared/chatMessages";
import type { FailureData } from "../shared/protocol";

const REQUEST_CANCELLED = -32800;

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
  const { code, message, data } = error as { code?: number; message?: string; data?: Partial<FailureData> };
  const kind = code === REQUEST_CANCELLED ? "cancelled" : (data?.kind ?? "other");
  const action = ACTIONS[kind];
  return {
    kind,
    message: message ?? String(error),
    ...(data?.hint ? { hint: data.hint } : {}),
    ...(action === undefined ? {} : { action }),
  };
}
