/** The difference of two texts by lines, without their secrets. */

import { maskSecrets } from "../views/config/secrets.js";

export interface DiffLine {
  kind: "same" | "added" | "removed" | "gap";
  text: string;
  /** `true` if the line has a secret, which is not shown. */
  hasSecret: boolean;
}

/** Unchanged lines around a change that are shown. */
const AROUND = 2;

/** Returns the changed lines with a few lines around them; empty if the texts are equal. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [shownLines(before), shownLines(after)];
  const all = mergeLines(old, now);
  const isNear = (at: number) => all.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== "same");
  const shown: DiffLine[] = [];
  all.forEach((line, at) => {
    if (isNear(at)) {
      shown.push(line);
    } else if (shown.length > 0 && shown.at(-1)!.kind !== "gap") {
      shown.push({ kind: "gap", text: "…", hasSecret: false });
    }
  });
  return shown.at(-1)?.kind === "gap" ? shown.slice(0, -1) : shown;
}

interface Line {
  /** Compared, with secrets. */
  raw: string;
  shown: string;
}

function shownLines(text: string): Line[] {
  const masked = maskSecrets(text).shown.replace(/"(•{8}) \d+"/g, '"$1"').split("\n");
  return text.split("\n").map((raw, at) => ({ raw, shown: masked[at] ?? "" }));
}

/** Merges two lists of lines by their longest common subsequence. */
function mergeLines(old: Line[], now: Line[]): DiffLine[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start]!.raw === now[start]!.raw) {
    start += 1;
  }
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end)!.raw === now.at(-1 - end)!.raw) {
    end += 1;
  }
  const [a, b] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const lengths = commonLengths(a, b);
  const merged = old.slice(0, start).map((line) => lineOf("same", line));
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i]!.raw === b[j]!.raw) {
      merged.push(lineOf("same", a[i]!));
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) {
      merged.push(lineOf("removed", a[i]!));
      i += 1;
    } else {
      merged.push(lineOf("added", b[j]!));
      j += 1;
    }
  }
  return [...merged, ...old.slice(old.length - end).map((line) => lineOf("same", line))];
}

/** The lengths of the longest common subsequences of the ends of both lists. */
function commonLengths(a: Line[], b: Line[]): Uint32Array[] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const isSame = a[i]!.raw === b[j]!.raw;
      lengths[i]![j] = isSame ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
    }
  }
  return lengths;
}

function lineOf(kind: DiffLine["kind"], { raw, shown }: Line): DiffLine {
  return { kind, text: shown, hasSecret: raw !== shown };
}
