import * as path from "node:path";

/** Where the server was looked for; said in the log and in the message about a missing server. */
export interface ServerCommand {
  command: string;
  origin: "setting" | "selected Python environment" | "workspace environment" | "uv tool" | "PATH" | "installed here";
}

export interface DiscoveryInput {
  /** `agentLs.serverPath`, which a workspace cannot set (its scope is `machine`). */
  setting: string;
  /** Programs of the workspace are run only when the person trusts it. */
  trusted: boolean;
  folders: readonly string[];
  /** The folder of the Python environment selected in the Python extension, if any. */
  selectedEnvironment: string | undefined;
  /** Where `Agent: Install Server` without uv puts a virtual environment. */
  privateEnvironment: string;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  isExecutable(file: string): boolean;
}

/** The first `agent-ls` found: setting, environments of a trusted workspace, our own, `uv tool`, PATH. */
export function findServer(input: DiscoveryInput): ServerCommand | undefined {
  if (input.setting !== "") {
    const command = input.setting.replace(/^~(?=$|[\\/])/, input.home);
    return input.isExecutable(command) ? { command, origin: "setting" } : undefined;
  }
  return candidates(input).find(({ command }) => input.isExecutable(command));
}

function* candidatesOf(input: DiscoveryInput): Generator<ServerCommand> {
  const inside = (environment: string) => executableOf(environment, input.platform);
  if (input.trusted) {
    if (input.selectedEnvironment !== undefined) {
      yield { command: inside(input.selectedEnvironment), origin: "selected Python environment" };
    }
    for (const folder of input.folders) {
      for (const name of [".venv", "venv"]) {
        yield { command: inside(path.join(folder, name)), origin: "workspace environment" };
      }
    }
  }
  yield { command: inside(input.privateEnvironment), origin: "installed here" };
  const file = executableName(input.platform);
  for (const folder of uvToolFolders(input)) yield { command: path.join(folder, file), origin: "uv tool" };
  for (const folder of absoluteFolders(input.env.PATH, input.platform)) {
    // A PATH entry inside the workspace is the workspace's program too.
    if (input.trusted || !input.folders.some((root) => isInside(folder, root))) {
      yield { command: path.join(folder, file), origin: "PATH" };
    }
  }
}

function candidates(input: DiscoveryInput): ServerCommand[] {
  return [...candidatesOf(input)];
}

function executableName(platform: NodeJS.Platform): string {
  return platform === "win32" ? "agent-ls.exe" : "agent-ls";
}

function executableOf(environment: string, platform: NodeJS.Platform): string {
  return path.join(environment, platform === "win32" ? "Scripts" : "bin", executableName(platform));
}

/** Where uv links the programs of its tools (https://docs.astral.sh/uv/reference/storage/). */
function uvToolFolders({ env, home }: DiscoveryInput): string[] {
  return [env.UV_TOOL_BIN_DIR, env.XDG_BIN_HOME, path.join(home, ".local", "bin")].filter(
    (folder): folder is string => folder !== undefined && path.isAbsolute(folder),
  );
}

/** Relative entries are left out: they would mean whatever folder the editor was started in. */
export function absoluteFolders(searchPath: string | undefined, platform: NodeJS.Platform): string[] {
  const delimiter = platform === "win32" ? ";" : ":";
  return (searchPath ?? "").split(delimiter).filter((folder) => path.isAbsolute(folder));
}

function isInside(file: string, root: string): boolean {
  const relative = path.relative(root, file);
  return relative === "" || (!relative.startsWith("..") && !path.isAbsolute(relative));
}
