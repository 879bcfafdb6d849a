import type { FromPage } from "../src/shared/chatMessages";

/** Sends a message to the extension. */
export type Send = (message: FromPage) => void;

/** What the views of items need of the page around them. */
export interface Page {
  send: Send;
  /** A path as a person reads it: relative to the workspace folder where it is inside. */
  shownPath(path: string): string;
}
