import assert from "node:assert/strict";
import { test } from "node:test";

import { source } from "./source.js";

const { afterEvent } = await source("chat/liveTurn.ts");
const { itemsOf, merged, takenMessages } = await source("chat/items.ts");
const { afterNewRows, around, newer, NEWEST, older } = await source("chat/window.ts");

const STARTED = { type: "started", turn: "t4", messages: [] };
const live = (...events) => events.reduce(afterEvent, null);
const text = (delta) => ({ type: "text", delta });

for (const [events, expected] of [
  [[text("lost")], null],
  [[STARTED, text("a"), text("b")], { text: "ab", step: null }],
  [[STARTED, text("a"), { type: "thinking", step: 1 }, text("b")], { text: "b", step: 1 }],
  [[STARTED, text("a"), { type: "restarted" }, text("b")], { text: "b" }],
  [[STARTED, { type: "tool_started", name: "x" }, { type: "tool_started", name: "x" }, { type: "tool_finished", name: "x", ok: true }], { tools: ["x"] }],
  [[STARTED, { type: "waiting", kind: "approval" }], { waitsFor: "approval" }],
  [[STARTED, { type: "waiting", kind: "approval" }, { type: "resumed" }], { waitsFor: null }],
  [[STARTED, { type: "tool_started", name: "x" }, { type: "ended", turn: "t4", messages: [], outcome: "replied" }], { tools: [] }],
  [[STARTED, text("a"), STARTED], { text: "" }],
]) {
  test(`afterEvent follows ${events.map(({ type }) => type).join(", ")}`, () => {
    const state = live(...events);
    const shown = expected && Object.fromEntries(Object.keys(expected).map((key) => [key, state[key]]));
    assert.deepEqual(expected === null ? state : shown, expected);
  });
}

const message = (id, at) => ({ id, received_at: at, message: {} });
const turn = (number, at, steered = []) => ({
  id: `t${number}`, started_at: at, origin: { messages: [message(`m${number}`, at)] }, steps: [{ steered }],
});
const sent = (number, at) => ({ delivery: `o${number}`, at, text: "", state: "sent" });
const keys = (items) => items.map(({ key }) => key);

test("itemsOf merges turns and sent texts by time", () => {
  assert.deepEqual(keys(itemsOf([turn(1, 10), turn(2, 30)], [sent(1, 20), sent(2, 40)], true)), ["t1", "o1", "t2", "o2"]);
});

test("itemsOf holds back texts before the oldest turn until all turns are loaded", () => {
  const texts = [sent(1, 5), sent(2, 20)];
  assert.deepEqual(keys(itemsOf([turn(1, 10)], texts, false)), ["t1", "o2"]);
  assert.deepEqual(keys(itemsOf([turn(1, 10)], texts, true)), ["o1", "t1", "o2"]);
});

test("merged orders by number and keeps unchanged rows", () => {
  const before = [turn(9, 1), turn(10, 2)];
  const after = merged(before, [turn(10, 2), turn(11, 3), turn(2, 0)], ({ id }) => id);
  assert.deepEqual(after.map(({ id }) => id), ["t2", "t9", "t10", "t11"]);
  assert.equal(after[2], before[1]);
});

test("takenMessages are those that started a turn or steered it", () => {
  const taken = takenMessages([turn(1, 1, [message("m7", 2)]), { origin: { child: {} }, steps: [] }]);
  assert.deepEqual([...taken], ["m1", "m7"]);
});

for (const [name, range, expected] of [
  ["older shows 50 more rows", older(NEWEST, 1000), { from: 100, to: 0 }],
  ["older stops at the oldest row", older(NEWEST, 70), { from: 70, to: 0 }],
  ["older leaves out the newest beyond 300 rows", older({ from: 300, to: 0 }, 1000), { from: 350, to: 50 }],
  ["newer leaves out the oldest beyond 300 rows", newer({ from: 350, to: 50 }), { from: 300, to: 0 }],
  ["newer stops at the newest row", newer({ from: 320, to: 20 }), { from: 300, to: 0 }],
  ["afterNewRows shows new rows at the end", afterNewRows({ from: 50, to: 0 }, 2), { from: 52, to: 0 }],
  ["afterNewRows keeps 300 rows at the end", afterNewRows({ from: 300, to: 0 }, 2), { from: 300, to: 0 }],
  ["afterNewRows keeps an older place", afterNewRows({ from: 350, to: 50 }, 2), { from: 352, to: 52 }],
  ["around shows rows on both sides", around(500, 1000), { from: 525, to: 425 }],
  ["around stops at both ends", around(10, 20), { from: 20, to: 0 }],
]) {
  test(name, () => assert.deepEqual(range, expected));
}
