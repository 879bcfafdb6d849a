import * as path from "node:path";
import { absoluteFolders } from "./discovery";

/** What is installed: the server with every model provider. */
export const PACKAGE = "agent-ls[all]";

/** The programs an installation runs, in order; shown to the person before anything runs. */
export type InstallationPlan = readonly (readonly string[])[];

export interface InstallationInput {
  /** Where a virtual environment goes when there is no uv. */
  privateEnvironment: string;
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  isExecutable(file: string): boolean;
}

/** `uv tool install` where there is uv, else a virtual environment of the extension's own; undefined without Python. */
export function planInstallation(input: InstallationInput): InstallationPlan | undefined {
  const uv = findProgram(["uv"], input);
  if (uv !== undefined) return [[uv, "tool", "install", "--upgrade", PACKAGE]];
  const python = findProgram(["python3", "python"], input);
  if (python === undefined) return undefined;
  const windows = input.platform === "win32";
  const own = path.join(input.privateEnvironment, windows ? "Scripts" : "bin", windows ? "python.exe" : "python");
  return [
    [python, "-m", "venv", input.privateEnvironment],
    [own, "-m", "pip", "install", "--upgrade", PACKAGE],
  ];
}

/** The plan as a person would type it. */
export function describePlan(plan: InstallationPlan): string {
  return plan.map((command) => command.map(quoted).join(" ")).join(" && ");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function findProgram(names: readonly string[], input: InstallationInput): string | undefined {
  const suffix = input.platform === "win32" ? ".exe" : "";
  for (const name of names) {
    for (const folder of absoluteFolders(input.env.PATH, input.platform)) {
      const file = path.join(folder, name + suffix);
      if (input.isExecutable(file)) return file;
    }
  }
  return undefined;
}
