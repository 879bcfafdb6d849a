import * as vscode from "vscode";

export const SECTION = "agentLs";

/** Settings of the extension itself, which the server does not know. */
const OWN_SETTINGS = new Set(["serverPath"]);

/**
 * The settings a person has set, by the server's names. Defaults are left out: an editor's settings win over the
 * user's configuration file (docs/settings.md), and a default nobody chose must not.
 */
export function explicitSettings(names: readonly string[]): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration(SECTION);
  const settings: Record<string, unknown> = {};
  for (const name of names) {
    const found = configuration.inspect(name);
    const value = found?.workspaceFolderValue ?? found?.workspaceValue ?? found?.globalValue;
    if (value !== undefined && value !== null) settings[name] = value;
  }
  return settings;
}

/** The server's settings, as contributed in package.json (made from the server's schema). */
export function serverSettingNames(packageJson: unknown): string[] {
  const { contributes } = packageJson as {
    contributes: { configuration: { properties: Record<string, unknown> }[] };
  };
  return contributes.configuration
    .flatMap(({ properties }) => Object.keys(properties))
    .map((key) => key.slice(SECTION.length + 1))
    .filter((name) => !OWN_SETTINGS.has(name));
}

export function serverPath(): string {
  return vscode.workspace.getConfiguration(SECTION).get<string>("serverPath", "").trim();
}
