// What a person with a keyboard and a screen reader gets of the chat page.
import fs from "node:fs";
import { createRequire } from "node:module";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const MOST_STEPS = 15;

/** What axe (https://www.deque.com/axe) finds against WCAG 2.2 A and AA, colours included, as lines to read. */
export async function faults(frame) {
  if (!(await frame.evaluate(() => "axe" in window))) await frame.evaluate(axe);
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const { violations } = await frame.evaluate((values) => window.axe.run(document, { runOnly: values }), tags);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} ${target}: ${failureSummary}`));
}

/** Presses Tab, or Shift+Tab, until the element of that name has the focus; the names on the way, it included. */
export async function tabTo(page, frame, name, { back = false } = {}) {
  const way = [];
  while (way.at(-1) !== name) {
    if (way.length > MOST_STEPS) throw new Error(`${name} is not reached from the keyboard: ${way.join(", ")}`);
    await page.keyboard.press(back ? "Shift+Tab" : "Tab");
    way.push(await focused(frame));
  }
  return way;
}

/** The name of what has the focus in the page. */
export function focused(frame) {
  return frame.evaluate(() => {
    const element = document.activeElement;
    // The meter's name begins with its number, which is not the same everywhere.
    return (element?.getAttribute("aria-label") ?? element?.textContent.trim())?.split(". ").at(-1);
  });
}

/** Begins to note what the page has a screen reader say. */
export function listen(frame) {
  return frame.evaluate(() => {
    window.said = [];
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const node of addedNodes) window.said.push(node.textContent);
    }).observe(document.querySelector('[role="status"]'), { childList: true });
  });
}

/** What was said since the last call, once `last` was. */
export async function said(frame, last) {
  await frame.waitForFunction((source) => window.said.some((text) => new RegExp(source).test(text)), last.source);
  return frame.evaluate(() => window.said.splice(0));
}
