/** The script that draws formulas. It is a file of its own, which the page loads with the first formula. */

import katex from "katex";

/** Draws a formula. Throws for one that KaTeX does not understand. */
export function render(box: HTMLElement, text: string, isBlock: boolean): void {
  katex.render(text, box, {
    displayMode: isBlock,
    throwOnError: true,
    // Formulas are texts of models and strangers: no links, no pictures, no endless macros.
    trust: false,
    strict: "ignore",
    maxExpand: 500,
    maxSize: 50,
  });
}
