/** Small helpers to make page elements; text is always set as text. */

export type Child = Node | string | undefined | false;

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return made;
}

/** One of the editor's icons; decoration only, so hidden from screen readers. */
export function icon(name: string, extra = ""): HTMLElement {
  return element("span", { class: `codicon codicon-${name} ${extra}`.trim(), "aria-hidden": "true" });
}

export function button(label: string, attributes: Record<string, string>, onClick: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", onClick);
  return made;
}

export function linkButton(label: string, onClick: () => void): HTMLButtonElement {
  return button(label, { class: "link" }, onClick);
}

export function hiddenText(text: string): HTMLElement {
  return element("span", { class: "visually-hidden" }, text);
}
