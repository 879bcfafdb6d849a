// Bundles the extension (dist/extension.js), the language client it loads once it has started (dist/languageClient.js) and
// the chat page (dist/chat.js, dist/chat.css and the icon font), with the licences of what is in them.
import { build } from "esbuild";
import { writeNotices } from "./notices.mjs";

const common = {
  bundle: true,
  minify: true,
  sourcemap: false,
  metafile: true,
  logLevel: "warning",
  legalComments: "none",
};
const node = { ...common, platform: "node", format: "cjs", target: "node20" };
const LIBRARY = "vscode-languageclient/node";

const extension = await build({
  ...node,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  external: ["vscode"],
  // The library is CommonJS: `import()` would hand it over without its names.
  supported: { "dynamic-import": false },
  plugins: [
    {
      // In a file of its own, so that activating does not read ten times the extension.
      name: "language client apart",
      setup: ({ onResolve }) =>
        onResolve({ filter: new RegExp(`^${LIBRARY}$`) }, () => ({ path: "./languageClient.js", external: true })),
    },
  ],
});
const languageClient = await build({
  ...node,
  stdin: { contents: `module.exports = require("${LIBRARY}");`, resolveDir: "." },
  outfile: "dist/languageClient.js",
  external: ["vscode"],
});
const chat = await build({
  ...common,
  entryPoints: { chat: "webview/main.ts" },
  outdir: "dist",
  platform: "browser",
  format: "iife",
  target: "chrome120",
  loader: { ".ttf": "file" },
  assetNames: "[name]",
});
await writeNotices([extension, languageClient, chat], "dist/THIRD-PARTY-NOTICES.txt");
