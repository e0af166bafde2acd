// `subscribe` with the real daemon: positions, restarts, repeated batches, conditions.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";

import { Client, ErrorCode } from "../dist/index.js";
import { following, Home, ME, proxy, soon, until } from "../testing/support.js";

async function begin(t) {
  const home = new Home(t);
  await home.start();
  const client = new Client({ path: home.socket, retrySeconds: 60 });
  t.after(() => client.close());
  return { home, client };
}

async function take(events, count) {
  const read = [];
  while (read.length < count) {
    read.push(await following(events));
  }
  return read;
}

/** Reads events up to one of a kind. */
async function upTo(events, kind) {
  const read = [];
  do {
    read.push(await following(events));
  } while (read.at(-1).kind !== kind);
  return read;
}

const numbers = (events) => events.map((event) => event.seq);

for (const name of [undefined, "me"]) {
  test(`subscribe ${name ? "with" : "without"} a name reads each event once over kills`, async (t) => {
    const { home, client } = await begin(t);
    const events = client.subscribe({ ...(name && { name }) });
    await events.open();
    const from = events.position;
    const read = [];
    for (const number of [1, 2, 3]) {
      const asked = await client.publish(ME, `count to ${number}`);
      if (number > 1) {
        await home.restart();
      }
      await soon(client.wait(asked.message));
      read.push(...(await upTo(events, "message.done")));
    }
    const listed = (await client.events({ after: from, limit: 500 })).events;
    assert.deepEqual(numbers(read), numbers(listed).slice(0, read.length));
    const count = (kind) => read.filter((event) => event.kind === kind).length;
    assert.deepEqual([count("daemon.started"), count("message.queued")], [2, 3]);
    events.close();
  });
}

test("subscribe confirms a batch when the next event is requested", async (t) => {
  const { client } = await begin(t);
  const position = async () => (await client.subscribers())[0].seq;
  await soon(client.ask(ME, "count to 1"));
  const { newest } = await client.events();
  const first = client.subscribe({ name: "me", from: 0 });
  const batch = await take(first, newest);
  assert.deepEqual([await position(), first.position], [0, 0]);
  first.close();
  const second = client.subscribe({ name: "me" });
  assert.deepEqual(numbers(await take(second, newest)), numbers(batch));
  const next = second.next();
  await until(async () => (await position()) === newest);
  assert.equal(second.position, newest);
  await client.publish(ME, "count to 1");
  assert.equal((await soon(next)).value.seq, newest + 1);
  second.close();
});

test("subscribe drops events of a batch that comes again", async (t) => {
  const { home, client } = await begin(t);
  await soon(client.ask(ME, "count to 1"));
  const { newest } = await client.events();
  let lost = 0;
  const front = await proxy(t, home, ({ id, result }) => {
    const isCut = lost < 2 && result !== undefined && String(id).startsWith("events-");
    lost += isCut ? 1 : 0;
    return isCut;
  });
  const behind = new Client({ path: front.path });
  const events = behind.subscribe({ name: "me", from: 0 });
  const batch = await take(events, newest);
  const next = events.next();
  await until(() => lost === 2);
  await client.send("terminal:local:other", "hello");
  batch.push((await soon(next)).value);
  assert.deepEqual(numbers(batch), Array.from({ length: newest + 1 }, (_, index) => index + 1));
  assert.equal(front.connections(), 3);
  events.close();
});

test("subscribe selects a session and kinds", async (t) => {
  const { client } = await begin(t);
  const other = "terminal:local:other";
  const ofSession = client.subscribe({ from: 0, session: other });
  const ofKinds = client.subscribe({ from: 0, kinds: ["message.queued", "turn"] });
  for (const session of [ME, other]) {
    await soon(client.ask(session, "count to 1"));
  }
  for (const event of await upTo(ofSession, "message.done")) {
    assert.equal(event.session, other);
  }
  const kinds = (await take(ofKinds, 6)).map((event) => event.kind);
  const ofOne = ["message.queued", "turn.running", "turn.done"];
  assert.deepEqual(kinds, [...ofOne, ...ofOne]);
  ofSession.close();
  ofKinds.close();
});

test("subscribe with wrong parameters fails", async (t) => {
  const { client } = await begin(t);
  const table = [
    [{ kinds: ["talk"] }, /there is no kind "talk"/],
    [{ name: "a:b" }, /subscriber name/],
    [{ session: "me" }, /session id/],
  ];
  for (const [options, message] of table) {
    await assert.rejects(client.subscribe(options).next(), { code: ErrorCode.PARAMS, message });
  }
});

for (const isWaiting of [true, false]) {
  const when = isWaiting ? "waiting" : "idle";
  test(`a ${when} subscription ends with an error if another takes its name`, async (t) => {
    const { client } = await begin(t);
    const first = client.subscribe({ name: "me" });
    await first.open();
    const waiting = isWaiting ? first.next() : undefined;
    waiting?.catch(() => {});
    const second = client.subscribe({ name: "me" });
    await second.open();
    await client.publish(ME, "count to 1");
    await upTo(second, "message.done");
    await assert.rejects(soon(waiting ?? first.next()), { code: ErrorCode.CONFLICT });
    second.close();
  });
}

test("leaving a loop, or close, ends the iteration", async (t) => {
  const { client } = await begin(t);
  const events = client.subscribe({ from: 0 });
  for await (const event of events) {
    assert.equal(event.kind, "daemon.started");
    break;
  }
  assert.deepEqual(await events.next(), { done: true, value: undefined });
  await assert.rejects(events.open(), /make a new one/);
  const waiting = client.subscribe();
  await waiting.open();
  const next = waiting.next();
  waiting.close();
  assert.deepEqual(await soon(next), { done: true, value: undefined });
});

test("an unknown request is answered with an error", async (t) => {
  const path = `${new Home(t).path}/socket`;
  const answers = [];
  const server = createServer((connection) => {
    const write = (message) => connection.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const event = { seq: 1, at: 1, kind: "daemon.started" };
    createInterface(connection).on("line", (line) => {
      const message = JSON.parse(line);
      if (message.method === "subscribe") {
        write({ id: message.id, result: { log: "l", from: 0, removed: 0 } });
        write({ id: "u1", method: "unknown", params: {} });
        write({ id: "e1", method: "events", params: { events: [event], next: 1 } });
      } else {
        answers.push(message);
      }
    });
  });
  server.listen(path);
  await once(server, "listening");
  t.after(() => server.close());
  const events = new Client({ path }).subscribe();
  assert.deepEqual((await soon(events.next())).value.seq, 1);
  const next = events.next();
  await until(() => answers.length === 2);
  assert.deepEqual([answers[0].id, answers[0].error.code], ["u1", ErrorCode.METHOD]);
  assert.deepEqual(answers[1], { jsonrpc: "2.0", id: "e1", result: {} });
  events.close();
  assert.equal((await soon(next)).done, true);
});
