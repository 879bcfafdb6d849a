// The licences of every package that esbuild put into a bundle: MIT, ISC and BSD ask that their text goes along.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Writes name, version and licence of each bundled package. Throws for one without a licence file of its own. */
export async function writeNotices(results, outfile) {
  const inputs = results.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const notices = [];
  for (const folder of [...new Set(inputs.map(packageFolder))].filter(Boolean).sort()) {
    const { name, version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    notices.push(`${name} ${version}\n\n${(await licences(folder)).join("\n\n")}`);
  }
  await writeFile(outfile, `${notices.join(`\n\n${"-".repeat(80)}\n\n`)}\n`);
}

/** `node_modules/@scope/name` of a file in a package, also of one nested in another; else undefined. */
function packageFolder(path) {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
}

async function licences(folder) {
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|thirdpartynotices)/i.test(file)).sort();
  if (files.length === 0) throw new Error(`${folder} has no licence file; its text must go into the .vsix`);
  return Promise.all(files.map(async (file) => (await readFile(join(folder, file), "utf8")).trim()));
}
