/** Lists that are loaded page by page. */

import { useCallback, useRef } from "preact/hooks";

import { useLoad, type Load, type LoadOptions } from "../../hooks.js";

export interface Pages<Row> {
  rows: Row[];
  hasMore: boolean;
}

export interface PagedLoad<Row> extends Load<Pages<Row>> {
  /** Loads one page more. */
  more: () => void;
}

/**
 * Loads the pages so far, one after the other, so that a reload keeps them. A page with fewer rows
 * than `size` is the last.
 */
export function usePages<Row>(
  page: (last: Row | undefined, signal: AbortSignal) => Promise<Row[]>,
  size: number,
  options: LoadOptions = {},
): PagedLoad<Row> {
  const count = useRef(1);
  const load = useLoad<Pages<Row>>(async (signal) => {
    const rows: Row[] = [];
    for (let number = 0; number < count.current; number += 1) {
      const next = await page(rows.at(-1), signal);
      rows.push(...next);
      if (next.length < size) {
        return { rows, hasMore: false };
      }
    }
    return { rows, hasMore: true };
  }, [], options);
  const more = useCallback(() => {
    count.current += 1;
    load.reload();
  }, [load.reload]);
  return { ...load, more };
}
