import assert from "node:assert/strict";
import { test } from "node:test";

import { source } from "./source.js";

globalThis.localStorage = { getItem: () => null };
globalThis.addEventListener = () => {};

const { EventParser } = await source("stream.ts");

/** Returns the events of a stream that arrives in these pieces. */
function parsed(...pieces) {
  const events = [];
  const parser = new EventParser((data, id) => events.push([data, id]));
  pieces.forEach((piece) => parser.push(piece));
  return events;
}

for (const [name, pieces, expected] of [
  ["reads data and ids", ["id: 7\ndata: {}\n\ndata: x\n\n"], [["{}", "7"], ["x", null]]],
  ["joins pieces", ["da", "ta: a", "b\n", "\n"], [["ab", null]]],
  ["joins lines of data", ["data: a\ndata: b\n\n"], [["a\nb", null]]],
  ["leaves out comments and events without data", [": open\n\nid: 3\n\ndata: x\n\n"], [["x", null]]],
  ["takes CRLF", ["data: a\r\n\r\n"], [["a", null]]],
  ["removes one space", ["data:  a\n\ndata:b\n\n"], [[" a", null], ["b", null]]],
  ["drops an event without its end", ["data: a\n"], []],
]) {
  test(`EventParser ${name}`, () => assert.deepEqual(parsed(...pieces), expected));
}
