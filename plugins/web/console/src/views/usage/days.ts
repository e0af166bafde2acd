/** Days of usage. The daemon groups by days in UTC. */

import type { Total } from "../../types.js";

export const DAY_MS = 86_400_000;

/** A row of `GET /v1/usage`: crates/protocol/src/query.rs. */
export interface UsageRow extends Total {
  /** `provider/model`, a session, a day as `2026-11-22`, a purpose, or a schedule. */
  of: string;
  /** Answers of models. */
  answers: number;
}

/** Returns the begin of the first day of a period that ends today. */
export function periodStart(days: number, now = Date.now()): number {
  return (Math.floor(now / DAY_MS) - days + 1) * DAY_MS;
}

/** Returns a row for each day, oldest first; days without usage are zero. */
export function fillDays(rows: readonly UsageRow[], since: number, days: number): UsageRow[] {
  const known = new Map(rows.map((row) => [row.of, row]));
  return Array.from({ length: days }, (_, number) => {
    const of = new Date(since + number * DAY_MS).toISOString().slice(0, 10);
    return known.get(of) ?? { ...sumOf([]), of };
  });
}

/** Adds up rows. */
export function sumOf(rows: readonly UsageRow[]): UsageRow {
  const sum = { of: "all", answers: 0, input: 0, output: 0, cached: 0, cache_written: 0, cost: 0, unpriced: 0 };
  for (const row of rows) {
    sum.answers += row.answers;
    sum.input += row.input;
    sum.output += row.output;
    sum.cached += row.cached;
    sum.cache_written += row.cache_written;
    sum.cost += row.cost;
    sum.unpriced += row.unpriced;
  }
  return sum;
}

const dayFormat = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

/** `Nov 22` of `2026-11-22`. */
export function dayLabel(day: string): string {
  return dayFormat.format(Date.parse(day));
}
