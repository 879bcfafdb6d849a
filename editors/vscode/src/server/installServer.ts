import { spawn } from "node:child_process";
import * as vscode from "vscode";
import { isExecutable } from "./executable";
import { describePlan, type InstallationPlan, planInstallation } from "./installation";

/** Tells once that there is no server, with a button that says what it will run. True once it is installed. */
export async function offerInstallation(privateEnvironment: string, output: vscode.LogOutputChannel): Promise<boolean> {
  const plan = planInstallation({ privateEnvironment, env: process.env, platform: process.platform, isExecutable });
  if (plan === undefined) {
    const choice = await vscode.window.showErrorMessage(
      "The agent-ls server is not installed, and neither uv nor Python was found to install it with.",
      "Set Server Path…",
    );
    if (choice !== undefined) await openServerPathSetting();
    return false;
  }
  const commandLine = describePlan(plan);
  const choice = await vscode.window.showInformationMessage(
    `The agent-ls server is not installed. Install runs: ${commandLine}`,
    "Install",
    "Set Server Path…",
  );
  if (choice === "Install") return runPlan(plan, commandLine, output);
  if (choice !== undefined) await openServerPathSetting();
  return false;
}

async function openServerPathSetting(): Promise<void> {
  await vscode.commands.executeCommand("workbench.action.openSettings", "agentLs.serverPath");
}

async function runPlan(plan: InstallationPlan, commandLine: string, output: vscode.LogOutputChannel): Promise<boolean> {
  output.info(`installing: ${commandLine}`);
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: "Installing agent-ls", cancellable: true },
    async (progress, token) => {
      for (const command of plan) {
        progress.report({ message: command.slice(-3).join(" ") });
        const failure = await run(command, output, token);
        if (token.isCancellationRequested) return false;
        if (failure !== undefined) {
          const choice = await vscode.window.showErrorMessage(`Installing agent-ls failed: ${failure}`, "Show Log");
          if (choice !== undefined) output.show();
          return false;
        }
      }
      return true;
    },
  );
}

/** Runs one program without a shell; undefined when it succeeded. */
function run(
  [program, ...args]: readonly string[],
  output: vscode.LogOutputChannel,
  token: vscode.CancellationToken,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    if (program === undefined) return resolve(undefined);
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    const cancelling = token.onCancellationRequested(() => child.kill());
    const log = (data: Buffer) => output.info(data.toString().trimEnd());
    child.stdout.on("data", log);
    child.stderr.on("data", log);
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code) => {
      cancelling.dispose();
      resolve(code === 0 ? undefined : `${program} ended with code ${code}.`);
    });
  });
}
