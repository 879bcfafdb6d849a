import MarkdownIt from "markdown-it";
import { icon } from "./elements";

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false, typographer: false });
// Pictures would be fetched from where the model says. They are shown as links to follow or not.
markdown.disable("image");
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
markdown.validateLink = (url) => isWebLink(url) || isFileLink(url);
markdown.renderer.rules.link_open = (tokens, index, options, _env, self) => {
  const token = tokens[index];
  const href = token?.attrGet("href") ?? "";
  if (token !== undefined && !isWebLink(href)) {
    token.attrSet("href", "#");
    token.attrSet("data-file", decodeURIComponent(href));
  }
  return self.renderToken(tokens, index, options);
};

function isWebLink(url: string): boolean {
  try {
    return SCHEMES.has(new URL(url).protocol);
  } catch {
    return false;
  }
}

/** A path, as models link files; anything with a scheme (`command:`, `javascript:`, `data:`) is none. */
function isFileLink(url: string): boolean {
  return (
    !/^[a-z][a-z0-9+.-]*:(?!\d)/i.test(url) && !url.startsWith("//") && url !== "" && !/%(?![0-9a-f]{2})/i.test(url)
  );
}

/** The HTML of `text`, safe to insert: no raw HTML passes, and every link is a web link or a path. */
export function renderMarkdown(text: string): string {
  return markdown.render(text);
}

/** Markdown that grows. Blocks that can no longer change are rendered once, so a long answer stays cheap. */
export class StreamingMarkdown {
  readonly element = document.createElement("div");
  private readonly settled = document.createElement("div");
  private readonly open = document.createElement("div");
  private taken = 0;
  private tail = "";

  constructor() {
    this.element.className = "markdown";
    this.element.append(this.settled, this.open);
  }

  /** Shows `text`, which begins with what was shown before. */
  update(text: string): void {
    this.tail += text.slice(this.taken);
    this.taken = text.length;
    const start = lastBlockStart(this.tail);
    if (start > 0) {
      this.settled.append(fragment(this.tail.slice(0, start)));
      this.tail = this.tail.slice(start);
    }
    this.open.replaceChildren(fragment(this.tail));
  }
}

/** Where the last top-level block begins, in characters; earlier blocks are closed for good. */
function lastBlockStart(text: string): number {
  const blocks = markdown.parse(text, {}).filter(({ level, map, nesting }) => level === 0 && map && nesting >= 0);
  const line = blocks.length > 1 ? (blocks.at(-1)?.map?.[0] ?? 0) : 0;
  let start = 0;
  for (let index = 0; index < line; index++) start = text.indexOf("\n", start) + 1;
  return start;
}

function fragment(text: string): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = renderMarkdown(text);
  for (const block of template.content.querySelectorAll("pre")) addCopyButton(block);
  return template.content;
}

function addCopyButton(block: HTMLElement): void {
  const frame = document.createElement("div");
  frame.className = "code-block";
  const language = /language-([\w+#-]+)/.exec(block.firstElementChild?.className ?? "")?.[1] ?? "";
  const bar = document.createElement("div");
  bar.className = "code-bar";
  const name = document.createElement("span");
  name.textContent = language;
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "icon-button";
  copy.dataset.copy = "";
  copy.title = "Copy code";
  copy.setAttribute("aria-label", language === "" ? "Copy code" : `Copy ${language} code`);
  copy.append(icon("copy"));
  bar.append(name, copy);
  block.replaceWith(frame);
  block.tabIndex = 0;
  frame.append(bar, block);
}
