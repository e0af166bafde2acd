/** Formulas of TeX in Markdown: `\(…\)`, `\[…\]`, `$$…$$` and `$…$`. */

import type { Token, TokenizerAndRendererExtension, Tokens } from "marked";

/** A formula between its marks. */
export interface FormulaToken extends Tokens.Generic {
  type: "formula";
  raw: string;
  text: string;
  /** `true` if it stands on lines of its own. */
  isBlock: boolean;
}

export function isFormula(token: Token): token is FormulaToken {
  return token.type === "formula";
}

/** The opening marks with the closing ones. The longer of two comes first. */
const PAIRS = [["\\(", "\\)"], ["\\[", "\\]"], ["$$", "$$"], ["$", "$"]] as const;

const BLOCK_START = /(?:^|\n) {0,3}(?=\$\$|\\\[)/;
const BLOCK_END = /^[ \t]*(?:\n|$)/;

/** A formula that begins a block, so that its lines are no lists and no headings. */
const block: TokenizerAndRendererExtension = {
  name: "formula",
  level: "block",
  start: (source) => {
    const found = BLOCK_START.exec(source);
    return found === null ? undefined : found.index;
  },
  tokenizer: (source) => {
    const indent = /^ {0,3}/.exec(source)![0].length;
    const found = formulaAt(source, indent);
    if (found === null || !found.isBlock) {
      return undefined;
    }
    const end = BLOCK_END.exec(source.slice(indent + found.raw.length));
    return end === null ? undefined : { ...found, raw: source.slice(0, indent) + found.raw + end[0] };
  },
};

/** A formula within a text. */
const inline: TokenizerAndRendererExtension = {
  name: "formula",
  level: "inline",
  start: (source) => {
    // The text before a mark is one token, so the character before it is known here only.
    for (const { index } of source.matchAll(/\\[([]|(?<![A-Za-z0-9$\\])\$/g)) {
      if (formulaAt(source, index) !== null) {
        return index;
      }
    }
    return undefined;
  },
  tokenizer: (source) => formulaAt(source, 0) ?? undefined,
};

export const formulaExtensions = [block, inline];

/** Reads the formula that begins here; `null` if there is none. */
export function formulaAt(source: string, at: number): FormulaToken | null {
  const pair = PAIRS.find(([open]) => source.startsWith(open, at));
  if (pair === undefined) {
    return null;
  }
  const [open, close] = pair;
  const end = source.indexOf(close, at + open.length);
  if (end === -1) {
    return null;
  }
  const text = source.slice(at + open.length, end);
  const after = source.charAt(end + close.length);
  if (text.trim() === "" || text.includes("\n\n") || !isMathematics(open, text, after)) {
    return null;
  }
  const isBlock = open === "\\[" || open === "$$";
  return { type: "formula", raw: source.slice(at, end + close.length), text: text.trim(), isBlock };
}

/** `$` also stands for money and for variables of a shell, and `\[` may be an escaped bracket. */
function isMathematics(open: string, text: string, after: string): boolean {
  switch (open) {
    case "\\(":
    case "$$":
      return true;
    case "\\[":
      return hasSign(text);
    default:
      return text === text.trim() && !text.includes("\n") && !/[A-Za-z0-9]/.test(after) && (hasSign(text) || isShort(text));
  }
}

/** A command of TeX, or a sign that formulas have and prices have not. */
function hasSign(text: string): boolean {
  return /\\[A-Za-z]|[\^_=<>+]/.test(text);
}

/** Single letters and what joins them, such as `n - 1` or `f(x)`. */
function isShort(text: string): boolean {
  return /[A-Za-z]/.test(text) && !/[A-Za-z]{2}/.test(text);
}
