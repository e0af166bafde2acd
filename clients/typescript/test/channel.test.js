// A program that is a channel, and a program with the rights of a client, with the real daemon.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Client, ErrorCode } from "../dist/index.js";
import { following, Home, soon, until } from "../testing/support.js";

const CHAT = "external:irc:c1";
const CHANNEL = '[channels.external.irc]\nowners = ["ann"]\n';
const TOKEN = "0123456789abcdef";
const CLIENT = `[gateway.clients.ci]
role = "sender"
chats = ["terminal:local:ci"]
token = "${TOKEN}"
`;

async function begin(t, config) {
  const home = new Home(t, config);
  await home.start();
  const client = (identity = {}) => {
    const made = new Client({ path: home.socket, retrySeconds: 60, ...identity });
    t.after(() => made.close());
    return made;
  };
  return { home, client };
}

/** Returns the positions of the account. */
async function cursorsOf(client) {
  const channel = client.channel("irc");
  await channel.open();
  channel.close();
  return channel.cursors;
}

test("channel publishes messages and delivers replies", async (t) => {
  const client = (await begin(t, CHANNEL)).client();
  const channel = client.channel("irc");
  await channel.open();
  assert.deepEqual(channel.cursors, {});
  const message = { chat: CHAT, sender: "ann", text: "count to 2", key: "k1" };
  for (const duplicate of [false, true]) {
    const published = await channel.publish({ ...message, cursor: { position: "7" } });
    assert.deepEqual(published, { message: "m1", duplicate });
  }
  const reply = await following(channel);
  assert.deepEqual([reply.chat, reply.text, reply.repeat], [CHAT, "1, 2.", false]);
  assert.match(reply.nonce, /^[0-9A-Za-z]{1,20}$/);
  const events = client.subscribe({ kinds: ["delivery.sent"] });
  await events.open();
  reply.confirm("p1");
  const { delivery } = await following(events);
  assert.deepEqual([delivery.id, delivery.platform_id], [reply.id, "p1"]);
  events.close();
  assert.deepEqual(await cursorsOf(client), { "": "7" });
  const stranger = channel.publish({ ...message, sender: "eve", key: "k2", cursor: { position: "8" } });
  await assert.rejects(stranger, { code: ErrorCode.NOT_ALLOWED });
  assert.deepEqual(await cursorsOf(client), { "": "8" });
  channel.close();
});

test("channel shows that the agent works", async (t) => {
  const client = (await begin(t, CHANNEL)).client();
  const typing = new Set();
  const channel = client.channel("irc", { onTyping: (chat) => typing.add(chat) });
  await channel.open();
  const message = { chat: CHAT, sender: "ann" };
  await channel.publish({ ...message, text: "count to 20", key: "k1" });
  await until(() => typing.size > 0);
  await channel.publish({ ...message, text: "/stop", key: "k2" });
  assert.deepEqual([...typing], [CHAT]);
  channel.close();
});

test("channel gets texts of at most its length", async (t) => {
  const client = (await begin(t, CHANNEL)).client();
  const channel = client.channel("irc", { maxText: 400 });
  await channel.open();
  const words = Array.from({ length: 200 }, (_, number) => `word${number}`);
  await client.send(CHAT, words.join(" "));
  const read = [];
  while (read.length < words.length) {
    const delivery = await following(channel);
    assert.ok(delivery.text.length <= 400);
    read.push(...delivery.text.split(/\s+/));
    delivery.confirm();
  }
  assert.deepEqual(read, words);
  channel.close();
});

test("channel reports the outcome of a delivery", async (t) => {
  const client = (await begin(t, CHANNEL)).client();
  const channel = client.channel("irc");
  await channel.open();
  await client.send(CHAT, "hello");
  const first = await following(channel);
  first.fail("the platform asks for a pause", 0.1);
  const second = await following(channel);
  assert.deepEqual([second.id, second.repeat], [first.id, false]);
  second.refuse("the chat is gone");
  const letter = await until(async () => (await client.failedMessages())[0]);
  assert.deepEqual([letter.id, letter.reason], [first.id, "refused"]);
  assert.match(letter.error, /the chat is gone/);
  const events = client.subscribe({ kinds: ["delivery.unknown"] });
  await events.open();
  await client.send(CHAT, "hello again");
  (await following(channel)).unknown("the platform did not answer");
  assert.equal((await following(events)).kind, "delivery.unknown");
  events.close();
  channel.close();
});

test("channel continues after a kill of the daemon", async (t) => {
  const { home, client: make } = await begin(t, CHANNEL);
  const channel = make().channel("irc");
  await channel.open();
  const message = { chat: CHAT, sender: "ann" };
  await channel.publish({ ...message, text: "count to 1", key: "k1", cursor: { position: "1" } });
  const first = await following(channel);
  await home.restart();
  const again = await following(channel);
  assert.deepEqual([again.id, again.nonce, again.repeat], [first.id, first.nonce, true]);
  assert.deepEqual(channel.cursors, { "": "1" });
  again.confirm();
  await channel.publish({ ...message, text: "count to 2", key: "k2" });
  assert.equal((await following(channel)).text, "1, 2.");
  channel.close();
});

test("channel passes files in both directions", async (t) => {
  const { home, client: make } = await begin(t, CHANNEL);
  const content = Buffer.from(Array.from({ length: 768_000 }, (_, number) => number % 251));
  const pieces = [];
  const readFile = async (reference, offset, length) => {
    pieces.push(reference);
    if (reference !== "f1") {
      throw Object.assign(new Error(`there is no file ${reference}`), { code: "ENOENT" });
    }
    return content.subarray(offset, offset + length);
  };
  const channel = make().channel("irc", { readFile });
  await channel.open();
  const message = { chat: CHAT, sender: "ann" };
  for (const reference of ["f1", "gone"]) {
    const attachments = [{ reference, name: "data.bin" }];
    await channel.publish({ ...message, key: reference, attachments });
    (await following(channel)).confirm();
  }
  assert.ok(pieces.filter((reference) => reference === "f1").length > 1);
  // The daemon does not ask again for a file that is gone.
  assert.equal(pieces.filter((reference) => reference === "gone").length, 1);
  const inbox = ".local/state/avocet/workspace/inbox";
  const [saved, ...others] = readdirSync(join(home.path, inbox));
  assert.deepEqual(others, []);
  assert.ok(readFileSync(join(home.path, inbox, saved)).equals(content));
  const files = JSON.stringify({ files: [`inbox/${saved}`] });
  await channel.publish({ ...message, key: "k3", text: `message ${files}` });
  const delivery = await following(channel);
  assert.deepEqual(delivery.attachments.map((file) => file.bytes), [content.length]);
  assert.ok(content.equals(await soon(delivery.readFile())));
  delivery.confirm();
  await assert.rejects(delivery.readFile(), { code: ErrorCode.NOT_FOUND });
  channel.close();
});

test("a client has the rights of its table on every connection", async (t) => {
  const { home, client: make } = await begin(t, CLIENT);
  const own = "terminal:local:ci";
  const other = make().ask("terminal:local:other", "count to 1");
  assert.equal((await soon(other)).outcome, "replied");
  const client = make({ client: "ci" });
  const rights = await client.rights();
  assert.deepEqual([rights.sender, rights.role, rights.chats], ["client:ci", "sender", [own]]);
  assert.equal((await make({ token: TOKEN }).rights()).sender, "client:ci");
  const events = client.subscribe({ from: 0, kinds: ["message.queued"] });
  const chat = client.attach(own);
  await Promise.all([events.open(), chat.open()]);
  await home.restart();
  await client.publish(own, "count to 2");
  const delivery = await following(chat);
  assert.equal(delivery.text, "1, 2.");
  delivery.confirm();
  const event = await following(events);
  assert.deepEqual([event.session, event.message.sender], [own, "client:ci"]);
  const refused = { code: ErrorCode.NOT_ALLOWED };
  await assert.rejects(client.ask("terminal:local:other", "hi"), refused);
  await assert.rejects(client.attach("terminal:local:other").next(), refused);
  events.close();
  chat.close();
});

test("a client with a wrong identity is refused at once", async (t) => {
  const { client: make } = await begin(t, CLIENT);
  for (const identity of [{ client: "nosuch" }, { token: "fedcba9876543210" }]) {
    const client = make(identity);
    const works = [
      () => client.connect(),
      () => client.subscribe().open(),
      () => client.ask("terminal:local:ci", "hi"),
    ];
    for (const work of works) {
      await assert.rejects(soon(work()), { name: "AvocetError", code: ErrorCode.NOT_ALLOWED });
    }
  }
});
