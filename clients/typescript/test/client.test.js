// `ask`, `publish`, `send`, `wait` and `attach` with the real daemon.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AvocetError, Client, ConnectionLost, ErrorCode, TimeoutError } from "../dist/index.js";
import { following, Home, ME, proxy, soon, until } from "../testing/support.js";

async function begin(t) {
  const home = new Home(t);
  await home.start();
  return { home, client: clientOf(t, home.socket) };
}

function clientOf(t, path) {
  const client = new Client({ path, retrySeconds: 60 });
  t.after(() => client.close());
  return client;
}

test("ask returns the reply", async (t) => {
  const { client } = await begin(t);
  const answered = await soon(client.ask(ME, "count to 3"));
  assert.deepEqual([answered.outcome, answered.reply], ["replied", "1, 2, 3."]);
});

test("ask without wait and publish return the message", async (t) => {
  const { client } = await begin(t);
  const asked = await client.ask(ME, "count to 1", { wait: false });
  assert.deepEqual(asked, { message: "m1", duplicate: false });
  assert.deepEqual(await client.publish(ME, "count to 2"), { message: "m2", duplicate: false });
  assert.equal((await soon(client.wait("m2"))).reply, "1, 2.");
});

test("a repeated key is the same message", async (t) => {
  const { client } = await begin(t);
  for (const duplicate of [false, true]) {
    const asked = await client.publish(ME, "count to 1", { key: "one" });
    assert.deepEqual(asked, { message: "m1", duplicate });
    assert.equal((await client.send(ME, "hello", { key: "two" })).duplicate, duplicate);
  }
  const taken = client.publish(ME, "count to 2", { key: "one" });
  await assert.rejects(taken, { name: "AvocetError", code: ErrorCode.CONFLICT });
});

test("many requests share a connection", async (t) => {
  const { home } = await begin(t);
  const front = await proxy(t, home, () => false);
  const client = clientOf(t, front.path);
  const numbers = Array.from({ length: 30 }, (_, number) => number);
  const asks = numbers.map((i) => client.ask(`terminal:local:${i}`, `count to ${(i % 3) + 1}`));
  const replies = (await soon(Promise.all(asks))).map((answered) => answered.reply);
  assert.deepEqual(replies, numbers.map((i) => ["1.", "1, 2.", "1, 2, 3."][i % 3]));
  assert.equal(front.connections(), 1);
});

test("ask is answered over a kill of the daemon", async (t) => {
  const { home, client } = await begin(t);
  const events = client.subscribe({ kinds: ["turn.running"] });
  await events.open();
  const asking = client.ask(ME, "count to 20");
  await following(events);
  await home.restart();
  const answered = await soon(asking);
  assert.equal(answered.outcome, "replied");
  assert.ok(answered.reply.endsWith("19, 20."), answered.reply);
  events.close();
});

test("ask after a lost answer repeats its key", async (t) => {
  const { home } = await begin(t);
  const lost = [];
  const front = await proxy(t, home, ({ result }) => {
    const isCut = result?.message !== undefined && lost.length === 0;
    if (isCut) {
      lost.push(result);
    }
    return isCut;
  });
  const asked = await soon(clientOf(t, front.path).publish(ME, "count to 1"));
  assert.deepEqual(lost, [{ message: "m1", duplicate: false }]);
  assert.deepEqual(asked, { message: "m1", duplicate: true });
  assert.equal(front.connections(), 2);
});

test("call after a lost answer is not repeated", async (t) => {
  const { home } = await begin(t);
  const front = await proxy(t, home, ({ result }) => result !== undefined);
  const call = clientOf(t, front.path).call("ask", { session: ME, text: "count to 1" });
  await assert.rejects(soon(call), ConnectionLost);
  assert.equal(front.connections(), 1);
});

test("ask after its timeout may be repeated with its key", async (t) => {
  const { client } = await begin(t);
  const late = client.ask(ME, "count to 20", { key: "k", timeoutSeconds: 0.1 });
  await assert.rejects(late, TimeoutError);
  const { message } = await client.publish(ME, "count to 20", { key: "k" });
  await assert.rejects(client.wait(message, { timeoutSeconds: 0.1 }), TimeoutError);
  await soon(client.ask(ME, "/stop"));
  assert.equal((await soon(client.wait(message))).outcome, "stopped");
  const { events } = await client.events({ kinds: ["message.queued"] });
  assert.equal(events.length, 2, "the message and the command");
});

test("wrong parameters are refused with a code and a correction", async (t) => {
  const { client } = await begin(t);
  const table = [
    ["ask", { session: "me", text: "hi" }, ErrorCode.PARAMS, /a session id is channel:/],
    ["ask", { session: ME }, ErrorCode.PARAMS, /`text` is missing/],
    ["ask", { session: ME, text: "hi", x: 1 }, ErrorCode.PARAMS, /unknown key `x`/],
    ["wait", { message: "m99" }, ErrorCode.NOT_FOUND, /there is no message m99/],
    ["send", { chat: "discord:a:b", text: "hi" }, ErrorCode.NOT_FOUND, /no configured/],
    ["sessions.list", { limit: 501 }, ErrorCode.PARAMS, /from 1 to 500/],
    ["fly", {}, ErrorCode.METHOD, /there is no method "fly"/],
  ];
  for (const [method, params, code, message] of table) {
    await assert.rejects(client.callOther(method, params), { name: "AvocetError", code, message });
  }
  const attached = client.attach("telegram:a:b").next();
  await assert.rejects(attached, { name: "AvocetError", code: ErrorCode.NOT_FOUND });
});

test("a request that cannot be sent leaves the connection open", async (t) => {
  const { home } = await begin(t);
  const front = await proxy(t, home, () => false);
  const client = clientOf(t, front.path);
  const long = client.publish(ME, "x".repeat(1024 * 1024));
  await assert.rejects(long, { code: ErrorCode.REQUEST, message: /at most 1048576/ });
  for (const text of ["\ud800", "a\\\ud800", "\udfff"]) {
    await assert.rejects(client.publish(ME, text), { code: ErrorCode.PARAMS, message: /Unicode/ });
  }
  // A pair of surrogates is a character, and an escape in the text is only text.
  for (const text of ["\u{1f600}", "\\ud800"]) {
    await client.publish(ME, text);
  }
  const texts = (await client.events({ kinds: ["message.queued"] })).events;
  assert.deepEqual(texts.map((event) => event.message.text), ["\u{1f600}", "\\ud800"]);
  assert.equal(front.connections(), 1);
});

test("without a daemon the error names the socket and the command", async (t) => {
  const path = new Home(t).socket;
  const client = new Client({ path, retrySeconds: 0 });
  const works = [
    () => client.connect(),
    () => client.ask(ME, "hi"),
    () => client.wait("m1"),
    () => client.status(),
    () => client.subscribe().open(),
    () => client.subscribe().next(),
    () => client.attach(ME).next(),
  ];
  for (const work of works) {
    await assert.rejects(work(), (error) => {
      assert.ok(error instanceof ConnectionLost && error instanceof AvocetError);
      assert.equal(error.code, ErrorCode.UNAVAILABLE);
      assert.ok(error.message.includes(path) && error.message.includes("avocet run"), error.message);
      return true;
    });
  }
  client.close();
  await assert.rejects(client.status(), /make a new one/);
});

test("requests wait for a daemon that starts later", async (t) => {
  const home = new Home(t);
  const client = clientOf(t, home.socket);
  const events = client.subscribe({ from: 0 });
  const [asking, first] = [client.ask(ME, "count to 1"), events.next()];
  await home.start();
  assert.equal((await soon(asking)).reply, "1.");
  assert.equal((await soon(first)).value.kind, "daemon.started");
  events.close();
});

test("attach receives texts and replies of the chat", async (t) => {
  const { client } = await begin(t);
  const seen = new Set();
  const chat = client.attach(ME, { onEvent: (event) => seen.add(event.type) });
  await chat.open();
  await client.send(ME, "good *morning*");
  const { id, turn, chat: name, text, repeat, choices } = await following(chat);
  assert.deepEqual([id, turn, name, text, repeat], ["o1", null, ME, "good *morning*", false]);
  assert.deepEqual(choices, []);
  chat.close();
  // The text that was not confirmed comes again.
  const again = client.attach(ME, { onEvent: (event) => seen.add(event.type) });
  (await following(again)).confirm();
  await client.publish(ME, "count to 2");
  const reply = await following(again);
  assert.deepEqual([reply.text, reply.turn], ["1, 2.", "t1"]);
  reply.confirm();
  await until(async () => {
    const { pending, unconfirmed } = (await client.status()).log;
    return pending === 0 && unconfirmed === 0;
  });
  assert.ok(seen.has("started") && seen.has("text"), [...seen].join());
  again.close();
});

test("attach gets an unconfirmed text again after a kill", async (t) => {
  const { home, client } = await begin(t);
  const chat = client.attach(ME);
  await chat.open();
  await client.send(ME, "hello");
  const first = await following(chat);
  await home.restart();
  // The connection of this delivery is gone.
  first.confirm();
  const again = await following(chat);
  assert.deepEqual([again.id, again.text, again.repeat], [first.id, "hello", true]);
  again.confirm();
  await client.send(ME, "bye");
  assert.equal((await following(chat)).text, "bye");
  chat.close();
});
