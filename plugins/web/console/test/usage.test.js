import assert from "node:assert/strict";
import { test } from "node:test";

import { source } from "./source.js";

const { fillDays, periodStart, sumOf } = await source("views/usage/days.ts");

const { price } = await source("format.ts");

const day = (of, cost) => ({ of, answers: 1, input: 10, output: 2, cached: 4, cache_written: 0, cost, unpriced: 0 });

test("periodStart begins at midnight UTC and includes today", () => {
  const now = Date.parse("2026-11-27T16:00:00Z");
  const cases = [[1, "2026-11-27T00:00:00.000Z"], [7, "2026-11-21T00:00:00.000Z"], [30, "2026-10-29T00:00:00.000Z"]];
  for (const [days, start] of cases) {
    assert.equal(new Date(periodStart(days, now)).toISOString(), start);
  }
});

test("fillDays adds days without usage, oldest first", () => {
  const rows = [day("2026-11-27", 5), day("2026-11-25", 7)];
  const filled = fillDays(rows, Date.parse("2026-11-24T00:00:00Z"), 4);
  assert.deepEqual(filled.map(({ of, cost }) => [of, cost]), [["2026-11-24", 0], ["2026-11-25", 7], ["2026-11-26", 0], ["2026-11-27", 5]]);
});

test("sumOf adds up all columns", () => {
  const sum = sumOf([day("2026-11-27", 5), day("2026-11-25", 7)]);
  assert.deepEqual(sum, { of: "all", answers: 2, input: 20, output: 4, cached: 8, cache_written: 0, cost: 12, unpriced: 0 });
});

test("price names what is unknown", () => {
  const cases = [[0, 0, "$0.00"], [2e9, 0, "$2.00"], [0, 110, "unknown"], [2e9, 110, "$2.00 + unknown"]];
  for (const [cost, unpriced, expected] of cases) {
    assert.equal(price({ cost, unpriced }), expected);
  }
});
