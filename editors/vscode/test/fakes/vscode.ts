/** As much of the `vscode` module as the unit tests touch; real VS Code is driven in tests/editors/vscode. */

type Listener<T> = (value: T) => void;

export class Disposable {
  constructor(private readonly ending: () => void) {}
  static from(...parts: { dispose(): void }[]): Disposable {
    return new Disposable(() => {
      for (const part of parts) part.dispose();
    });
  }
  dispose(): void {
    this.ending();
  }
}

export class EventEmitter<T> {
  private readonly listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>): Disposable => {
    this.listeners.add(listener);
    return new Disposable(() => this.listeners.delete(listener));
  };
  fire(value: T): void {
    for (const listener of [...this.listeners]) listener(value);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export enum QuickPickItemKind {
  Separator = -1,
  Default = 0,
}

export class CodeActionKind {
  static readonly Refactor = new CodeActionKind("refactor");
  constructor(readonly value: string) {}
  append(part: string): CodeActionKind {
    return new CodeActionKind(`${this.value}.${part}`);
  }
}

export const registered = new Map<string, (argument?: unknown) => unknown>();
export const commands = {
  registerCommand(name: string, handler: (argument?: unknown) => unknown): Disposable {
    registered.set(name, handler);
    return new Disposable(() => registered.delete(name));
  },
};

/** `inspect` results by setting name, as a test wants them. */
export const configured: Record<string, { globalValue?: unknown; workspaceValue?: unknown; defaultValue?: unknown }> =
  {};
export const workspace = {
  workspaceFolders: [] as { uri: { toString(): string; scheme: string; fsPath: string }; name: string }[],
  getConfiguration: () => ({ inspect: (name: string) => configured[name] }),
  getWorkspaceFolder: () => workspace.workspaceFolders[0],
};
export const window = {};
/** Absent, as in a fork of VS Code without its chat. */
export const chat = undefined;
export class ThemeIcon {
  constructor(readonly id: string) {}
}
export const Uri = { parse: (value: string) => ({ toString: () => value }) };
