import assert from "node:assert/strict";
import { test } from "node:test";

import { source } from "./source.js";

const { traceRows } = await source("views/trace/rows.ts");
const { makeScale } = await source("views/trace/scale.ts");

const usage = { model: "a/b", purpose: "answer", input: 900, output: 20, cached: 0, cache_written: 0, cost: 4_200_000 };
const received = (outcome) => ({
  type: "received", start: 0, end: 0,
  message: { id: "m1", chat: "web:console:main", sender: "uid:1", is_command: false, text: "hi", ...(outcome && { outcome }) },
});
const queued = (end) => ({ type: "queued", start: 0, end });
const model = (turn, start, end, calls = []) => ({
  type: "model", turn, start, end, usage: [usage], answer: { text: "ok", input_tokens: 900, output_tokens: 20, calls },
});
const tool = (turn, start, end, ok = true) => ({
  type: "tool", turn, start, end, call: `${turn}s0c0`, tool: { name: "shell", arguments: { command: "ls" }, ok, result_bytes: 1500 },
});
const paused = (turn, start, end) => ({ type: "paused", turn, start, end, waits_for: ["approval"] });
const ended = (turn, start, more = {}) => ({ type: "ended", turn, start, end: start, state: "turn.done", turn_info: more });

/** The title of each row, indented by its depth. */
const outline = (spans) => traceRows(spans).map(({ depth, title }) => "-".repeat(depth) + title);

test("traceRows nests calls below the models of a turn", () => {
  const spans = [received("replied"), queued(10), model("t1", 10, 20, ["shell"]), tool("t1", 20, 30), model("t1", 30, 40), ended("t1", 40)];
  assert.deepEqual(outline(spans), ["Message m1", "-Wait for the lane", "-Turn t1", "--Model", "---shell", "--Model"]);
});

test("traceRows puts a sub-agent behind the call of its parent", () => {
  const spans = [
    received("replied"), model("t1", 0, 10), tool("t1", 10, 40), model("t2", 12, 20), ended("t2", 30, { parent: "t1", label: "look" }),
    model("t1", 40, 50), ended("t1", 50),
  ];
  assert.deepEqual(outline(spans), ["Message m1", "-Turn t1", "--Model", "---shell", "---Sub-agent t2", "----Model", "--Model"]);
});

test("traceRows adds a row for work whose span comes at its end", () => {
  const cases = [
    { spans: [received(), queued(null)], last: "Wait for the lane" },
    { spans: [received(), queued(10)], last: "Under way" },
    { spans: [received(), queued(10), model("t1", 10, 20, ["shell"])], last: "Under way" },
    { spans: [received(), queued(10), model("t1", 10, 20), paused("t1", 20, null)], last: "Wait" },
    { spans: [received("replied"), queued(10), model("t1", 10, 20), ended("t1", 20)], last: "Model" },
  ];
  for (const { spans, last } of cases) {
    const row = traceRows(spans).at(-1);
    assert.equal(row.title, last);
    assert.equal(row.end === null, last !== "Model");
  }
});

test("traceRows marks faults and names tokens, cost and size", () => {
  const rows = traceRows([received("replied"), model("t1", 0, 10), tool("t1", 10, 20, false), ended("t1", 20)]);
  const [, , asked, called] = rows;
  assert.deepEqual([asked.note, asked.isFault], ["900 + 20 tokens, $0.0042", false]);
  assert.deepEqual([called.note, called.isFault], ["failed, 1.5 kB · ls", true]);
});

const scaleOf = (spans, now) => makeScale(traceRows(spans), now);

test("makeScale is linear without long waits", () => {
  const scale = scaleOf([received("replied"), model("t1", 0, 5000), ended("t1", 10_000)], 99_000);
  assert.deepEqual([scale.gaps, scale.at(0), scale.at(2500), scale.at(10_000)], [[], 0, 0.25, 1]);
});

test("makeScale shortens a long wait and keeps the work in proportion", () => {
  const spans = [received("replied"), model("t1", 0, 10_000), paused("t1", 10_000, 3_610_000), model("t1", 3_610_000, 3_620_000), ended("t1", 3_620_000)];
  const scale = scaleOf(spans, 0);
  const [gap] = scale.gaps;
  assert.equal(scale.gaps.length, 1);
  assert.equal(gap.label, "1 h 0 min");
  assert.ok(gap.to - gap.from < 0.2, `the gap has ${gap.to - gap.from} of the width`);
  const [before, after] = [gap.from, 1 - gap.to];
  assert.ok(Math.abs(before - after) < 1e-9, "both models lasted 10 s");
});

test("makeScale does not shorten a wait during which a model works", () => {
  const spans = [received("replied"), paused("t1", 0, 60_000), model("t2", 0, 60_000), ended("t1", 60_000)];
  assert.deepEqual(scaleOf(spans, 0).gaps, []);
});

test("makeScale shows a timeline that is only a wait", () => {
  const scale = scaleOf([received(), queued(null)], 60_000);
  assert.deepEqual([scale.gaps, scale.at(30_000)], [[], 0.5]);
});
