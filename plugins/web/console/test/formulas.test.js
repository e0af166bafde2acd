import assert from "node:assert/strict";
import { test } from "node:test";

import { Marked } from "marked";

import { source } from "./source.js";

const { formulaExtensions } = await source("markdown/tex.ts");
const marked = new Marked({ extensions: formulaExtensions });

/** Returns the formulas of a text, those on lines of their own in brackets. */
function formulas(text) {
  const found = [];
  marked.walkTokens(marked.lexer(text), (token) => {
    if (token.type === "formula") {
      found.push(token.isBlock ? `[${token.text}]` : token.text);
    }
  });
  return found;
}

test("formulas are found in the four forms that models write", () => {
  for (const [text, expected] of [
    ["The energy is $E = mc^2$, or \\(E_k = \\frac{1}{2}mv^2\\).", ["E = mc^2", "E_k = \\frac{1}{2}mv^2"]],
    ["With $n - 1$ or $x$ or $f(x)$.", ["n - 1", "x", "f(x)"]],
    ["Then:\n\n$$\n\\int_0^1 x\n= \\frac12\n$$\n\nDone.", ["[\\int_0^1 x\n= \\frac12]"]],
    ["Then:\n\\[\na\n- b_1\n\\]\nDone.", ["[a\n- b_1]"]],
    ["- one: $$a_1$$\n- two:\n  $$\n  a_2\n  $$", ["[a_1]", "[a_2]"]],
    ["| $a_1$ | b |\n|---|---|\n| \\(c^2\\) | d |", ["a_1", "c^2"]],
    ["**$a_1$** and *\\(b\\)*", ["a_1", "b"]],
  ]) {
    assert.deepEqual(formulas(text), expected, text);
  }
});

test("prices, variables of a shell, code and escaped brackets are no formulas", () => {
  for (const text of [
    "It costs $5 and $10, or US$5 to 10$.",
    "Set $HOME and $PATH, or $PATH:$HOME.",
    "`$a_1$` and \\$a_1\\$",
    "```\n$$a_1$$\n```",
    "A note \\[see below\\] and $ a_1 $.",
    "Unfinished: $$a_1",
    "Two $a_1\n\n and b$ paragraphs.",
    "20$ or $30,",
  ]) {
    assert.deepEqual(formulas(text), [], text);
  }
});
