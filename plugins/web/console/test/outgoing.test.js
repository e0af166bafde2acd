import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { source } from "./source.js";

const stored = new Map();
globalThis.localStorage = { getItem: () => null };
globalThis.sessionStorage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
globalThis.addEventListener = () => {};
// The pauses between attempts end at once.
globalThis.setTimeout = (action) => queueMicrotask(action);

const { Outbox } = await source("chat/outgoing.ts");

/** The requests so far, and the answers to come; the last one is repeated. */
let requests;
let answers;

globalThis.fetch = async (path, { method, headers, body }) => {
  requests.push({ method, path, key: headers.get("Idempotency-Key"), body: body && JSON.parse(body) });
  const answer = answers.length > 1 ? answers.shift() : answers[0];
  if (answer === "lost") {
    throw new TypeError("the connection was lost");
  }
  return new Response(JSON.stringify(answer.body), { status: answer.status });
};

const ACCEPTED = { status: 202, body: { id: "m3", duplicate: false, outcome: null } };
const BUSY = { status: 503, body: { title: "Busy", detail: "the log is busy" } };
const REFUSED = { status: 400, body: { title: "Bad", detail: "the text is too long" } };

beforeEach(() => {
  stored.clear();
  requests = [];
});

/** Sends a text and waits until the message has this state. */
async function sent(state, ...given) {
  answers = given;
  const outbox = new Outbox("web:console:main");
  const reached = until(outbox, state);
  outbox.send("hello");
  await reached;
  return outbox;
}

function until(outbox, state) {
  return new Promise((resolve) => {
    outbox.list.follow(() => outbox.list.get()[0]?.state === state && resolve());
  });
}

const posts = () => requests.filter(({ method }) => method === "POST");

test("Outbox repeats a message whose answer was lost with the same key", async () => {
  const outbox = await sent("sent", "lost", BUSY, ACCEPTED);
  assert.equal(posts().length, 3);
  assert.equal(new Set(posts().map(({ key }) => key)).size, 1);
  assert.deepEqual(posts()[0].body, { session: "web:console:main", text: "hello" });
  assert.equal(outbox.list.get()[0].id, "m3");
});

test("Outbox keeps a refused message with the reason, and retry sends it with its key", async () => {
  const outbox = await sent("failed", REFUSED);
  const [failed] = outbox.list.get();
  assert.deepEqual([failed.error, posts().length], ["the text is too long", 1]);
  answers = [ACCEPTED];
  const reached = until(outbox, "sent");
  outbox.retry(failed);
  await reached;
  assert.equal(posts().at(-1).key, failed.key);
});

test("Outbox gives up after four attempts", async () => {
  const outbox = await sent("failed", BUSY);
  assert.deepEqual([posts().length, outbox.list.get()[0].error], [4, "the log is busy"]);
});

test("Outbox keeps messages over a reload and drops those that a turn has taken in", async () => {
  await sent("sent", ACCEPTED);
  const outbox = new Outbox("web:console:main");
  assert.deepEqual(outbox.list.get().map(({ text }) => text), ["hello"]);
  assert.deepEqual(new Outbox("web:console:other").list.get(), []);
  outbox.drop(new Set(["m3"]));
  assert.deepEqual([outbox.list.get(), new Outbox("web:console:main").list.get()], [[], []]);
});

test("Outbox drops a message that has its outcome without a turn of its own", async () => {
  answers = [ACCEPTED];
  const outbox = await sent("sent", ACCEPTED, { status: 200, body: { id: "m3", outcome: "merged" } });
  await new Promise((resolve) => {
    outbox.list.follow(resolve);
    if (outbox.list.get().length === 0) {
      resolve();
    }
  });
  assert.deepEqual(outbox.list.get(), []);
});
