/** Loads the script that draws formulas, once. */

import type * as Katex from "./katex.js";

declare const FORMULA_SCRIPT: string;
declare const FORMULA_STYLE: string;

/** Longer formulas stay text, because the work would block the page. */
const LONGEST = 5_000;

let loaded: typeof Katex | null = null;
let loading: Promise<void> | null = null;

/** Resolves when formulas can be drawn. */
export function loadFormulas(): Promise<void> {
  loading ??= Promise.all([loadScript(), loadStyle()]).then(
    ([script]) => void (loaded = script),
    (error: unknown) => {
      // The next formula tries again.
      loading = null;
      throw error;
    },
  );
  return loading;
}

/** Draws a formula; `false` if nothing is drawn: the script is not loaded, or the formula has a fault. */
export function drawFormula(box: HTMLElement, text: string, isBlock: boolean): boolean {
  if (loaded === null || text.length > LONGEST) {
    return false;
  }
  try {
    loaded.render(box, text, isBlock);
    return true;
  } catch {
    return false;
  }
}

async function loadScript(): Promise<typeof Katex> {
  const address: string = FORMULA_SCRIPT;
  return (await import(address)) as typeof Katex;
}

function loadStyle(): Promise<void> {
  return new Promise((resolve, reject) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: FORMULA_STYLE });
    link.onload = () => resolve();
    link.onerror = () => reject(new Error("the style sheet of formulas cannot be loaded"));
    document.head.append(link);
  });
}
