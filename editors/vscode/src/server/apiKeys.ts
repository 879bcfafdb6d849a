import * as vscode from "vscode";

interface Provider {
  label: string;
  variable: string;
}

const PROVIDERS: readonly Provider[] = [
  { label: "Anthropic", variable: "ANTHROPIC_API_KEY" },
  { label: "OpenAI", variable: "OPENAI_API_KEY" },
  { label: "Google", variable: "GOOGLE_API_KEY" },
  { label: "Mistral", variable: "MISTRAL_API_KEY" },
  { label: "Groq", variable: "GROQ_API_KEY" },
  { label: "OpenRouter", variable: "OPENROUTER_API_KEY" },
];
const OTHERS = "agentLs.otherKeys";

/** Only names of keys: a secret must not become `PATH` or `LD_PRELOAD` of the server. */
export function isKeyVariable(name: string): boolean {
  return /^[A-Z][A-Z0-9_]*_(API_KEY|TOKEN)$/.test(name);
}

/** Keys of model providers in the editor's secret store. They reach the server over its environment and nothing else. */
export class ApiKeys {
  constructor(
    private readonly secrets: vscode.SecretStorage,
    private readonly state: vscode.Memento,
  ) {}

  /** The stored keys, by environment variable. */
  async environment(): Promise<Record<string, string>> {
    const environment: Record<string, string> = {};
    for (const variable of this.variables()) {
      const key = await this.secrets.get(secretName(variable));
      if (key) environment[variable] = key;
    }
    return environment;
  }

  /** Asks for a provider and its key; an empty key removes the stored one. True when something changed. */
  async ask(): Promise<boolean> {
    const variable = await this.askVariable();
    if (variable === undefined) return false;
    const stored = (await this.secrets.get(secretName(variable))) !== undefined;
    const key = await vscode.window.showInputBox({
      title: variable,
      prompt: stored
        ? "A key is stored. Enter a new one, or nothing to remove it."
        : "Kept in the editor's secret store.",
      password: true,
      ignoreFocusOut: true,
    });
    if (key === undefined) return false;
    if (key.trim() === "") {
      await this.secrets.delete(secretName(variable));
      return stored;
    }
    await this.secrets.store(secretName(variable), key.trim());
    return true;
  }

  private variables(): string[] {
    return [
      ...PROVIDERS.map(({ variable }) => variable),
      ...this.state.get<string[]>(OTHERS, []).filter(isKeyVariable),
    ];
  }

  private async askVariable(): Promise<string | undefined> {
    const known = await this.environment();
    const other = { label: "Other…", description: "by the name of its environment variable", variable: undefined };
    const rows = PROVIDERS.map(({ label, variable }) => ({
      label,
      description: variable,
      variable,
      ...(known[variable] === undefined ? {} : { detail: "A key is stored." }),
    }));
    const picked = await vscode.window.showQuickPick([...rows, other], { title: "Agent: Set API Key" });
    if (picked === undefined) return undefined;
    return picked.variable ?? this.askOtherVariable();
  }

  private async askOtherVariable(): Promise<string | undefined> {
    const variable = await vscode.window.showInputBox({
      title: "Environment variable of the key",
      placeHolder: "COHERE_API_KEY",
      ignoreFocusOut: true,
      validateInput: (value) => (isKeyVariable(value) ? undefined : "Capitals, ending in _API_KEY or _TOKEN."),
    });
    if (variable === undefined) return undefined;
    await this.state.update(OTHERS, [...new Set([...this.state.get<string[]>(OTHERS, []), variable])]);
    return variable;
  }
}

function secretName(variable: string): string {
  return `agentLs.key.${variable}`;
}
