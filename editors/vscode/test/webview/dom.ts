import { Window } from "happy-dom";

/** Gives the page's code a document, as the browser would. */
export function openPage(): Window {
  const window = new Window({ url: "http://127.0.0.1/" });
  const globals = window as unknown as Record<string, unknown>;
  for (const name of ["document", "Node", "Element", "HTMLElement", "KeyboardEvent", "Event"]) {
    Object.defineProperty(globalThis, name, { value: globals[name], configurable: true, writable: true });
  }
  Object.defineProperty(globalThis, "window", { value: window, configurable: true, writable: true });
  Object.assign(globalThis, {
    requestAnimationFrame: (draw: () => void) => setTimeout(draw, 0),
    cancelAnimationFrame: (id: number) => clearTimeout(id),
  });
  window.document.body.innerHTML = '<main id="conversation" role="log"></main><div id="composer"></div>';
  return window;
}
