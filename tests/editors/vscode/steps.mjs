// Steps of a journey: each builds on the one before and leaves a picture of how it ended.
import path from "node:path";
import { test } from "node:test";

/** Makes `step(name, run)`. A step that fails ends its journey: the next ones are skipped. */
export function steps(artefacts, workbench) {
  let failed = false;
  let picture = 0;
  return (name, run) =>
    test(name, async (t) => {
      if (failed) {
        t.skip("an earlier step failed");
        return;
      }
      failed = true;
      try {
        await run();
        failed = false;
      } finally {
        const file = `${String(++picture).padStart(2, "0")}-${name.replace(/\W+/g, "-")}.png`;
        await workbench()?.page.screenshot({ path: path.join(artefacts, file) });
      }
    });
}

/** Waits for something outside the page, a file for example. */
export async function until(condition, timeout = 10_000) {
  const end = Date.now() + timeout;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`never true: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
