import type { FromPage } from "../src/shared/chatMessages";

/** Sends a message to the extension. */
export type Send = (message: FromPage) => void;
