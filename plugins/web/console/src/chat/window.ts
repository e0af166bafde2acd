/**
 * The rows that are in the document. Both ends are counted from the newest row, so that older rows,
 * which are added in front, move neither of them.
 */

export interface Range {
  /** The number of rows from the first shown one to the newest one. */
  from: number;
  /** The number of newer rows that are left out. */
  to: number;
}

export const STEP = 50;
export const MOST = 300;

export const NEWEST: Range = { from: STEP, to: 0 };

/** Shows the rows around one, given by its number from the newest row, which is 1. */
export function around(row: number, count: number): Range {
  const from = Math.min(row + STEP / 2, count);
  return { from, to: Math.max(from - STEP * 2, 0) };
}

/** Shows older rows, and leaves out newer ones beyond the limit. */
export function older({ from, to }: Range, count: number): Range {
  const start = Math.min(from + STEP, count);
  return { from: start, to: Math.max(to, start - MOST) };
}

/** Shows newer rows, and leaves out older ones beyond the limit. */
export function newer({ from, to }: Range): Range {
  const end = Math.max(to - STEP, 0);
  return { from: Math.min(from, end + MOST), to: end };
}

/** Keeps the place after rows were added at the end. A reader at the end sees the new rows. */
export function afterNewRows({ from, to }: Range, added: number): Range {
  if (to > 0) {
    return { from: from + added, to: to + added };
  }
  return { from: Math.min(from + added, MOST), to: 0 };
}
