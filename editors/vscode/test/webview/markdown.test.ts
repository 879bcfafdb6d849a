import assert from "node:assert/strict";
import { test } from "node:test";
import { renderMarkdown, StreamingMarkdown } from "../../webview/markdown";
import { openPage } from "./dom";

const HOSTILE = [
  "<script>alert(1)</script>",
  '<img src=x onerror="alert(1)">',
  "![picture](https://evil.example/pixel.png)",
  "[go](javascript:alert(1))",
  "[go](command:workbench.action.terminal.new)",
  "[go](data:text/html,<script>alert(1)</script>)",
  "[go](vscode://settings)",
  "[go](//evil.example/x)",
  "<https://ok.example> <javascript:alert(1)>",
  '[a](https://ok.example "x\\" onclick=alert(1)")',
  "```html\n</code></pre><script>alert(1)</script>\n```",
];

test("nothing a model writes becomes a program, a picture or a command", () => {
  const { document } = openPage();
  for (const text of HOSTILE) {
    const place = document.createElement("div");
    place.innerHTML = renderMarkdown(text);
    assert.equal(place.querySelector("script, img, iframe, object, style, form"), null, text);
    for (const found of place.querySelectorAll("*")) {
      for (const { name } of found.attributes) assert.doesNotMatch(name, /^on|^style$/, text);
      assert.doesNotMatch(found.getAttribute("data-file") ?? "", /^(\/\/|[a-z]+:\D)/i, text);
      const href = found.getAttribute("href");
      if (href !== null) assert.match(href, /^(#$|https?:|mailto:)/, text);
    }
  }
});

test("a link to a file is opened by the editor and not by the browser", () => {
  const html = renderMarkdown("see [it](src/a%20b.py:12) and [other](#L3)");
  assert.match(html, /href="#" data-file="src\/a b\.py:12"/);
});

const ANSWER = `# Title

A paragraph with **bold**
that goes on.

- one
- two

  still two

| a | b |
|---|---|
| 1 | 2 |

\`\`\`python
def f():

    return 1
\`\`\`

> quote

Last words.
`;

test("an answer looks the same however it was cut into chunks", () => {
  openPage();
  const whole = new StreamingMarkdown();
  whole.update(ANSWER);
  for (const size of [1, 2, 3, 7, 19, 64]) {
    const streamed = new StreamingMarkdown();
    for (let end = size; end < ANSWER.length + size; end += size) streamed.update(ANSWER.slice(0, end));
    assert.equal(normalised(streamed), normalised(whole), `chunks of ${size}`);
  }
});

test("blocks that are complete are not made again", () => {
  openPage();
  const streamed = new StreamingMarkdown();
  streamed.update("first paragraph\n\nsecond");
  const first = streamed.element.querySelector("p");
  streamed.update("first paragraph\n\nsecond goes on\n\nthird");
  assert.equal(streamed.element.querySelector("p"), first);
});

test("code has a button that copies it", () => {
  openPage();
  const streamed = new StreamingMarkdown();
  streamed.update("```python\nprint(1)\n```\n");
  const copy = streamed.element.querySelector("[data-copy]");
  assert.equal(copy?.getAttribute("aria-label"), "Copy python code");
  assert.equal(copy?.closest(".code-block")?.querySelector("pre")?.textContent, "print(1)\n");
});

function normalised({ element }: StreamingMarkdown): string {
  const [settled, open] = [element.firstElementChild, element.lastElementChild];
  return `${settled?.innerHTML}${open?.innerHTML}`.replace(/>\s+</g, "><").trim();
}
