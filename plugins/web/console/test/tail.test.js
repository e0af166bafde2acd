import assert from "node:assert/strict";
import { test } from "node:test";

import { source } from "./source.js";

globalThis.localStorage = { getItem: () => null };
globalThis.addEventListener = () => {};

const { EMPTY_TAIL, MOST_ROWS, tailReducer } = await source("views/events/tailState.ts");
const { endOfLog, eventsBefore } = await source("views/events/older.ts");

const event = (seq, kind = "turn.done") => ({ seq, at: seq, kind });
/** Events from a high number down to a low one. */
const down = (from, to) => Array.from({ length: from - to + 1 }, (_, index) => event(from - index));
const numbers = (events) => events.map(({ seq }) => seq);
const after = (...actions) => actions.reduce(tailReducer, EMPTY_TAIL);
const loaded = (events) => ({ type: "loaded", events, hasOlder: true });
const arrived = (seq) => ({ type: "arrived", event: event(seq) });

test("tailReducer adds events that came during the first load once", () => {
  const state = after(arrived(3), arrived(4), loaded(down(3, 1)));
  assert.deepEqual(numbers(state.rows), [4, 3, 2, 1]);
});

test("tailReducer keeps the rows during a reload, and replaces them", () => {
  const reloading = after(loaded(down(3, 1)), { type: "load", isSameFilter: true });
  assert.deepEqual([numbers(reloading.rows), reloading.isLoading], [[3, 2, 1], true]);
  assert.deepEqual(numbers(tailReducer(reloading, loaded(down(900, 899))).rows), [900, 899]);
  assert.deepEqual(after(loaded(down(3, 1)), { type: "load", isSameFilter: false }).rows, []);
});

test("tailReducer keeps new events aside during a pause", () => {
  const paused = after(loaded(down(2, 1)), { type: "pause" }, arrived(3), arrived(4));
  assert.deepEqual([numbers(paused.rows), numbers(paused.waiting)], [[2, 1], [4, 3]]);
  const continued = tailReducer(paused, { type: "continue" });
  assert.deepEqual([numbers(continued.rows), continued.waiting, continued.isPaused], [[4, 3, 2, 1], [], false]);
});

test("tailReducer keeps 500 rows: the newest while it follows, the oldest after older pages", () => {
  const following = after(loaded(down(MOST_ROWS, 1)), arrived(MOST_ROWS + 1));
  assert.deepEqual([following.rows.length, following.rows[0].seq, following.hasGap], [MOST_ROWS, MOST_ROWS + 1, false]);
  const older = after(loaded(down(700, 301)), { type: "loadOlder" }, { type: "loadedOlder", events: down(300, 101), hasOlder: true });
  assert.deepEqual([older.rows.length, older.rows[0].seq, older.rows.at(-1).seq], [MOST_ROWS, 600, 101]);
  assert.deepEqual([older.isPaused, older.hasGap], [true, true]);
});

/** A log behind `fetch`, with the rules of `GET /v1/events`. Returns the list of requests. */
function serve(log, newest) {
  const requests = [];
  globalThis.fetch = async (path) => {
    const query = new URL(path, "http://127.0.0.1").searchParams;
    const [from, limit] = [Number(query.get("after") ?? 0), Number(query.get("limit"))];
    requests.push(from);
    const found = log.filter(({ seq, kind }) => seq > from && (!query.has("kinds") || kind === query.get("kinds")));
    const events = found.slice(0, limit);
    const next = events.length < limit ? newest : events.at(-1).seq;
    return new Response(JSON.stringify({ log: "l", events, next, newest, removed: 0 }));
  };
  return requests;
}

const ANY = { kind: "", session: "" };
const { signal } = new AbortController();

test("eventsBefore returns the page before a number, newest first", async () => {
  serve(down(1000, 1).reverse(), 1000);
  assert.equal(await endOfLog(signal), 1001);
  const { events, hasOlder } = await eventsBefore(1001, ANY, signal);
  assert.deepEqual([numbers(events), hasOlder], [numbers(down(1000, 901)), true]);
});

test("eventsBefore ends at the first event", async () => {
  serve(down(30, 1).reverse(), 30);
  const { events, hasOlder } = await eventsBefore(21, ANY, signal);
  assert.deepEqual([numbers(events), hasOlder], [numbers(down(20, 1)), false]);
});

test("eventsBefore finds rare kinds with few requests", async () => {
  const log = down(20_000, 1).reverse().map(({ seq }) => event(seq, seq % 400 === 0 ? "turn.failed" : "turn.done"));
  const requests = serve(log, 20_000);
  const { events } = await eventsBefore(20_001, { kind: "turn.failed", session: "" }, signal);
  assert.deepEqual(numbers(events), Array.from({ length: 50 }, (_, index) => 20_000 - index * 400));
  assert.ok(requests.length < 12, `${requests.length} requests`);
});
