// Bundles the extension (dist/extension.js) and the chat page (dist/chat.js, dist/chat.css and the icon font).
import { build } from "esbuild";

const common = { bundle: true, minify: true, sourcemap: false, logLevel: "warning", legalComments: "none" };

await build({
  ...common,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
});
await build({
  ...common,
  entryPoints: { chat: "webview/main.ts" },
  outdir: "dist",
  platform: "browser",
  format: "iife",
  target: "chrome120",
  loader: { ".ttf": "file" },
  assetNames: "[name]",
});
