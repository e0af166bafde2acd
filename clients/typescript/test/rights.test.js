// `hello`, the rights of clients, and `publishInbound` with the real daemon.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { AvocetError, Client, ConnectionLost, ErrorCode } from "../dist/index.js";
import { following, Home, ME, proxy, soon, until } from "../testing/support.js";

const WEB = "terminal:local:web";
const ANN = "external:irc:ann";
const TOKEN = "0123456789abcdef";
const WRONG_TOKEN = "0123456789abcdeX";
const IRC_TOKEN = "fedcba9876543210";
const CONFIG = `
[channels.external.irc]
allow = ["ann"]

[gateway.clients.web]
role = "sender"
chats = ["${WEB}"]
token = "${TOKEN}"

[gateway.clients.irc]
role = "channel"
chats = ["external:irc:*"]
token = "${IRC_TOKEN}"
`;
// Requests of the daemon, which pass through a proxy as well.
const FROM_DAEMON = ["deliver", "event", "events"];

async function begin(t) {
  const home = new Home(t, CONFIG);
  await home.start();
  const clientOf = (path, options) => {
    const made = new Client(path, { retrySeconds: 60, ...options });
    t.after(() => made.close());
    return made;
  };
  const web = (path = home.socket) => clientOf(path, { client: "web", token: TOKEN });
  const irc = (path = home.socket) => clientOf(path, { client: "irc", token: IRC_TOKEN });
  return { home, clientOf, web, irc, operator: clientOf(home.socket, {}) };
}

/** Asserts that the daemon refuses some work. */
async function assertRefused(work, code, message) {
  await assert.rejects(soon(work), (error) => {
    assert.ok(error instanceof AvocetError && !(error instanceof ConnectionLost), String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.ok(!error.message.includes(TOKEN) && !error.message.includes(WRONG_TOKEN));
    return true;
  });
}

test("hello with the right token gives the rights of the client", async (t) => {
  const { home, operator } = await begin(t);
  const rights = { sender: "client:web", role: "sender", chats: [WEB], methods: null, protocol: 1 };
  const table = [{ client: "web", token: TOKEN }, { token: TOKEN }, { client: "web" }];
  for (const named of table) {
    const web = new Client({ path: home.socket, ...named });
    assert.deepEqual(await soon(web.call("hello", {})), rights);
    assert.equal((await soon(web.ask(WEB, "count to 2"))).reply, "1, 2.");
    await assertRefused(web.ask(ME, "count to 2"), ErrorCode.NOT_ALLOWED, /is not one of its chats/);
    web.close();
  }
  const queued = (await operator.events({ kinds: ["message.queued"] })).events;
  assert.deepEqual(queued.map((event) => event.message.sender), table.map(() => "client:web"));
});

test("client without hello has the rights of its user", async (t) => {
  const { operator } = await begin(t);
  const { sender, role } = await operator.call("hello", {});
  assert.deepEqual([sender, role], [`uid:${process.getuid()}`, "operator"]);
});

test("hello is the first request of every connection", async (t) => {
  const { home, web, clientOf } = await begin(t);
  let methods = [];
  const front = await proxy(t, home, ({ method }) => {
    if (method === undefined || FROM_DAEMON.includes(method)) {
      return false;
    }
    methods.push(method);
    // The first request of each kind loses its connection.
    return method !== "hello" && methods.filter((one) => one === method).length === 1;
  });
  const client = web(front.path);
  const [events, chat] = [client.subscribe({ name: "feed" }), client.attach(WEB)];
  for (const [method, work] of [
    ["ping", () => client.connect()],
    ["subscribe", () => events.open()],
    ["attach", () => chat.open()],
  ]) {
    methods = [];
    await soon(work());
    assert.deepEqual(methods, ["hello", method, "hello", method]);
  }
  methods = [];
  await soon(clientOf(front.path, {}).connect());
  assert.deepEqual(methods, ["ping", "ping"]);
  events.close();
  chat.close();
});

test("hello that is refused is thrown and not retried", async (t) => {
  const { home, clientOf } = await begin(t);
  const front = await proxy(t, home, () => false);
  const unknown = /the token is not that of a client/;
  const works = [
    (client) => client.connect(),
    (client) => client.ask(WEB, "count to 1"),
    (client) => client.wait("m1"),
    (client) => client.subscribe({ name: "feed" }).open(),
    (client) => client.attach(WEB).next(),
  ];
  let connections = 0;
  for (const [named, message] of [
    [{ client: "web", token: WRONG_TOKEN }, unknown],
    [{ token: WRONG_TOKEN }, unknown],
    [{ client: "irc", token: TOKEN }, unknown],
    [{ client: "other" }, /there is no client "other"/],
  ]) {
    const client = clientOf(front.path, named);
    for (const work of works) {
      await assertRefused(work(client), ErrorCode.NOT_ALLOWED, message);
      connections += 1;
    }
  }
  assert.equal(front.connections(), connections);
});

test("hello that is refused after a restart ends the iteration", async (t) => {
  const { home, web } = await begin(t);
  const events = web().subscribe({ name: "feed" });
  await events.open();
  home.configure(CONFIG.replace(TOKEN, "a-new-token-of-web"));
  await home.restart();
  await assertRefused(events.next(), ErrorCode.NOT_ALLOWED, /the token is not that of/);
  events.close();
});

test("close ends a request that waits for the answer to hello", async (t) => {
  // A daemon that does not answer.
  const path = join(new Home(t).path, "silent.sock");
  const client = new Client(path, { client: "web", token: TOKEN });
  const server = createServer((connection) => connection.once("data", () => client.close()));
  server.listen(path);
  await once(server, "listening");
  t.after(() => server.close());
  await assert.rejects(soon(client.call("ping")), ConnectionLost);
});

/** Reads events of the chat of `web` up to the end of its message. */
async function upToDone(events) {
  const read = [];
  do {
    read.push(await following(events));
  } while (read.at(-1).kind !== "message.done");
  for (const event of read.filter(({ kind }) => kind !== "daemon.started")) {
    assert.equal(event.session, WEB);
  }
  return read;
}

async function readAll(events) {
  for await (const event of events) {
    assert.equal(event.session, WEB);
  }
}

test("subscription of a limited client continues after a kill of the daemon", async (t) => {
  const { home, web, operator } = await begin(t);
  const client = web();
  const askInBothChats = async (text) => {
    await soon(operator.ask(ME, text));
    await soon(client.ask(WEB, text));
  };
  const events = client.subscribe({ name: "feed", from: 0 });
  await events.open();
  await askInBothChats("count to 1");
  const read = await upToDone(events);
  await home.restart();
  await askInBothChats("count to 2");
  read.push(...(await upToDone(events)));
  const listed = (await client.events({ limit: 500 })).events;
  assert.deepEqual(read, listed.slice(0, read.length));
  const rest = readAll(events);
  const confirmed = await until(async () => {
    const [{ name, seq }, ...others] = await operator.subscribers();
    assert.deepEqual([name, others], ["feed@client.web", []]);
    return seq >= read.at(-1).seq && seq;
  });
  events.close();
  await soon(rest);
  // Another program with this name begins behind the confirmed events.
  await home.restart();
  const again = web().subscribe({ name: "feed", from: 0 });
  await askInBothChats("count to 3");
  assert.ok((await upToDone(again))[0].seq > confirmed);
  again.close();
});

test("publishInbound brings in the message of a person", async (t) => {
  const { irc, operator } = await begin(t);
  const client = irc();
  const chat = client.attach(ANN);
  await chat.open();
  const message = {
    chat: ANN,
    chat_kind: "private",
    sender: "ann",
    sender_name: "Ann",
    key: "1",
    text: "count to 3",
    cursor: { position: "17" },
  };
  for (const duplicate of [false, true]) {
    assert.deepEqual(await soon(client.publishInbound(message)), { message: "m1", duplicate });
  }
  const reply = await following(chat);
  assert.deepEqual([reply.chat, reply.text], [ANN, "1, 2, 3."]);
  reply.confirm();
  chat.close();
  const queued = (await operator.events({ kinds: ["message.queued"] })).events;
  const authors = queued.map((event) => [event.message.sender, event.message.sender_name]);
  assert.deepEqual(authors, [["ann", "Ann"]]);
  const { cursors } = await client.call("attach", { channel: "external", account: "irc" });
  assert.deepEqual(cursors, { "": "17" });
});

test("publishInbound after a lost answer repeats its key", async (t) => {
  const { home, irc } = await begin(t);
  const lost = [];
  const front = await proxy(t, home, ({ result }) => {
    const isCut = result?.message !== undefined && lost.length === 0;
    if (isCut) {
      lost.push(result);
    }
    return isCut;
  });
  const message = { chat: ANN, sender: "ann", key: "1", text: "hi" };
  const published = await soon(irc(front.path).publishInbound(message));
  assert.deepEqual(lost, [{ message: "m1", duplicate: false }]);
  assert.deepEqual(published, { message: "m1", duplicate: true });
  assert.equal(front.connections(), 2);
});

test("publishInbound needs the role and a chat of a program", async (t) => {
  const { web, irc, operator } = await begin(t);
  const message = { chat: ANN, sender: "ann", key: "1", text: "hi" };
  for (const [client, changed, code, reason] of [
    [web(), { chat: WEB }, ErrorCode.NOT_ALLOWED, /needs the role channel/],
    [irc(), { chat: WEB }, ErrorCode.NOT_ALLOWED, /not one of its chats/],
    [operator, { chat: ME }, ErrorCode.NOT_FOUND, /\[channels\.external\.NAME\]/],
    [irc(), { sender: "client:web" }, ErrorCode.PARAMS, /is a process/],
  ]) {
    await assertRefused(client.publishInbound({ ...message, ...changed }), code, reason);
  }
});
