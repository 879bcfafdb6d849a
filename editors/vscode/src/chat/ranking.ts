import * as path from "node:path";

/** The paths that contain the letters of `query` in order, best first: name before folder, start before middle. */
export function rankPaths(paths: readonly string[], query: string, most: number): string[] {
  const wanted = query.toLowerCase();
  return paths
    .map((file) => ({ file, score: score(file.toLowerCase(), wanted) }))
    .filter((row): row is { file: string; score: number } => row.score !== undefined)
    .sort((a, b) => a.score - b.score || a.file.length - b.file.length || (a.file < b.file ? -1 : 1))
    .slice(0, most)
    .map(({ file }) => file);
}

/** Lower is better; undefined is no match. */
function score(file: string, wanted: string): number | undefined {
  const name = path.posix.basename(file);
  if (name.startsWith(wanted)) return 0;
  if (name.includes(wanted)) return 1;
  if (file.includes(wanted)) return 2;
  return isSubsequence(wanted, file) ? 3 : undefined;
}

function isSubsequence(wanted: string, text: string): boolean {
  let found = 0;
  for (const character of text) if (character === wanted[found]) found += 1;
  return found === wanted.length;
}
