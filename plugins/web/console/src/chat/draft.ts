/** The text that another part of the page puts into the field for a new message. */

import { Store } from "../store.js";

/** A new object for each request, so that the same text can be put there twice. */
export const draftRequest = new Store<{ text: string } | null>(null);

/** Puts a text into the field, to be changed and sent. */
export function writeAgain(text: string): void {
  draftRequest.set({ text });
}
