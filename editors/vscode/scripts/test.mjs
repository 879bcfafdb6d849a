// Bundles the tests with a stand-in for the `vscode` module and runs them with node's test runner.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const tests = listTests("test");
fs.rmSync("build/test", { recursive: true, force: true });
await build({
  entryPoints: tests,
  outdir: "build/test",
  outbase: "test",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  sourcemap: "inline",
  logLevel: "warning",
  alias: { vscode: path.resolve("test/fakes/vscode.ts") },
  external: ["happy-dom", "esbuild", "vscode-jsonrpc/node"],
  loader: { ".css": "empty" },
});
const built = tests.map((file) => path.join("build/test", path.relative("test", file).replace(/\.ts$/, ".js")));
const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...built], { stdio: "inherit" });
process.exit(run.status ?? 1);

function listTests(folder) {
  return fs
    .readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => path.join(folder, file));
}
