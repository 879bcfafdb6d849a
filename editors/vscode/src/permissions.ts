import type { PermissionOption, PermissionOutcome, RequestPermissionParams } from "./shared/protocol";

export interface PermissionQuestion extends RequestPermissionParams {
  requestId: string;
}

export interface PermissionListener {
  asked(question: PermissionQuestion): void;
  /** `option` is undefined where nobody answered; `reason` is a person's, for a refusal. */
  settled(question: PermissionQuestion, option: PermissionOption | undefined, reason: string | undefined): void;
}

interface Pending {
  question: PermissionQuestion;
  resolve(outcome: PermissionOutcome): void;
}

/** Questions of the agent that wait for a person. The first answer counts, wherever it is given. */
export class PermissionQuestions {
  private readonly pending = new Map<string, Pending>();
  private readonly listeners = new Set<PermissionListener>();
  private count = 0;

  /** Returns what ends the listening. */
  listen(listener: PermissionListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Resolves when somebody answers, or with `cancelled` when the turn ends first. */
  ask(params: RequestPermissionParams): Promise<PermissionOutcome> {
    const question = { ...params, requestId: `permission-${++this.count}` };
    return new Promise((resolve) => {
      this.pending.set(question.requestId, { question, resolve });
      for (const listener of this.listeners) listener.asked(question);
    });
  }

  /** False when the question is settled already, or never offered that option. */
  answer(requestId: string, optionId: string, reason?: string): boolean {
    const option = this.pending.get(requestId)?.question.options.find((offered) => offered.optionId === optionId);
    if (option === undefined) return false;
    const because = reason?.trim();
    const isReason = because !== undefined && because !== "" && isRejection(option);
    this.settle(requestId, option, { outcome: "selected", optionId, ...(isReason ? { reason: because } : {}) });
    return true;
  }

  cancel(requestId: string): void {
    this.settle(requestId, undefined, { outcome: "cancelled" });
  }

  /** The turn that asked is over, or its server is gone. */
  cancelAll(sessionId?: string): void {
    for (const [requestId, { question }] of this.pending) {
      if (sessionId === undefined || question.sessionId === sessionId) this.cancel(requestId);
    }
  }

  /** The question that has waited longest. */
  oldest(sessionId?: string): PermissionQuestion | undefined {
    for (const { question } of this.pending.values()) {
      if (sessionId === undefined || question.sessionId === sessionId) return question;
    }
    return undefined;
  }

  private settle(requestId: string, option: PermissionOption | undefined, outcome: PermissionOutcome): void {
    const pending = this.pending.get(requestId);
    if (pending === undefined) return;
    this.pending.delete(requestId);
    pending.resolve(outcome);
    const reason = outcome.outcome === "selected" ? outcome.reason : undefined;
    for (const listener of this.listeners) listener.settled(pending.question, option, reason);
  }
}

export function isRejection(option: PermissionOption): boolean {
  return option.kind === "reject_once" || option.kind === "reject_always";
}
