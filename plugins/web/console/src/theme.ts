/** The colours: those of the system, or the reader's choice. */

import { Store } from "./store.js";

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "avocet.theme";

export const theme = new Store<Theme>(stored());

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return THEMES.find((known) => known === value) ?? "auto";
}

export function setTheme(value: Theme): void {
  localStorage.setItem(KEY, value);
  theme.set(value);
  applyTheme();
}

/** Called before the first rendering, so that the page does not flash. */
export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.get();
}
