// The official Node client of OpenAI against a running daemon. `tests/e2e/sdks.rs` starts both.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const OpenAI = require("openai");

const { AVOCET_URL: url, AVOCET_TOKEN: token } = process.env;
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
// The fake model writes a number every 0.4 seconds, so these ten take longer than this timeout.
const TEN = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10.";
const TIMEOUT_MS = 2000;

/** Reads a path of Avocet's own API. */
async function get(path) {
  const answer = await fetch(url + path, { headers: { Authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 200, path);
  return answer.json();
}

/** Waits for the outcome of the message behind a completion or response. */
async function loggedReply(of) {
  const message = await get(`/v1/messages/${of.split(/[-_]/).at(-1)}?wait=60`);
  assert.equal(message.outcome, "replied");
  return message.reply;
}

/** Returns the texts of the messages in a session. */
async function texts(session) {
  const turns = await get(`/v1/sessions/${session}`);
  const messages = turns.flatMap((turn) => turn.origin.messages);
  return messages.map(({ message }) => message.inbound.content.text);
}

const sessionOf = (user) => `terminal:local:api-${user}`;

const chat = (user, content, more, options) =>
  client.chat.completions.create(
    { model: "avocet", messages: [{ role: "user", content }], user, ...more },
    options,
  );

const respond = (user, input, more, options) =>
  client.responses.create({ model: "avocet", input, user, ...more }, options);

async function all(stream) {
  const found = [];
  for await (const one of stream) found.push(one);
  return found;
}

const textOf = (chunks) => chunks.map((chunk) => chunk.choices[0].delta.content ?? "").join("");

test("plain completion has the reply", async () => {
  const completion = await chat("n-plain", "count to 3");
  const [{ message, finish_reason }] = completion.choices;
  assert.deepEqual([message.role, message.content, finish_reason], ["assistant", "1, 2, 3.", "stop"]);
  assert.equal(await loggedReply(completion.id), "1, 2, 3.");
});

test("streamed chunks join to the reply", async () => {
  const chunks = await all(await chat("n-chunks", "count to 3", { stream: true }));
  assert.equal(textOf(chunks), "1, 2, 3.");
  assert.ok(chunks.length > 3, "the text comes in pieces");
  const reasons = chunks.map((chunk) => chunk.choices[0].finish_reason);
  assert.deepEqual(reasons, [...Array(chunks.length - 1).fill(null), "stop"]);
  assert.equal(await loggedReply(chunks[0].id), "1, 2, 3.");
});

test("stream with the usage option is accepted", async () => {
  const more = { stream: true, stream_options: { include_usage: true } };
  const chunks = await all(await chat("n-usage", "count to 1", more));
  const last = chunks.pop();
  assert.equal(textOf(chunks), "1.");
  assert.deepEqual(last.choices, []);
  assert.equal(last.usage.total_tokens, last.usage.prompt_tokens + last.usage.completion_tokens);
});

test("chat stream helper builds the completion", async () => {
  const messages = [{ role: "user", content: "count to 2" }];
  const stream = client.chat.completions.stream({ model: "avocet", messages, user: "n-helper" });
  const deltas = [];
  stream.on("content", (delta) => deltas.push(delta));
  const { choices } = await stream.finalChatCompletion();
  assert.deepEqual([choices[0].message.content, choices[0].finish_reason], ["1, 2.", "stop"]);
  assert.equal(deltas.join(""), "1, 2.");
});

test("text parts are joined", async () => {
  await chat("n-parts", [{ type: "text", text: "count" }, { type: "text", text: "to 2" }]);
  const content = [{ type: "input_text", text: "count" }, { type: "input_text", text: "to 3" }];
  await respond("n-parts", [{ role: "user", content }]);
  assert.deepEqual(await texts(sessionOf("n-parts")), ["count\nto 2", "count\nto 3"]);
});

test("plain response has the reply", async () => {
  const response = await respond("n-response", "count to 3");
  assert.deepEqual([response.output_text, response.status], ["1, 2, 3.", "completed"]);
  assert.equal(await loggedReply(response.id), "1, 2, 3.");
});

test("streamed events have the order of the API", async () => {
  const events = await all(await respond("n-events", "count to 2", { stream: true }));
  const deltas = events.filter((event) => event.type === "response.output_text.delta");
  assert.equal(deltas.map((event) => event.delta).join(""), "1, 2.");
  const expected = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    ...deltas.map((event) => event.type),
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ];
  assert.deepEqual(events.map((event) => event.type), expected);
  assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
});

test("response stream helper builds the response", async () => {
  const stream = client.responses.stream({ model: "avocet", input: "count to 2", user: "n-stream" });
  const deltas = [];
  stream.on("response.output_text.delta", (event) => deltas.push(event.delta));
  const response = await stream.finalResponse();
  assert.deepEqual([response.output_text, response.status], ["1, 2.", "completed"]);
  assert.equal(deltas.join(""), "1, 2.");
});

test("models list and retrieve show the agent", async () => {
  assert.deepEqual((await all(client.models.list())).map((model) => model.id).slice(0, 2), ["avocet", "default"]);
  assert.equal((await client.models.retrieve("avocet")).object, "model");
  const unknown = client.models.retrieve("gpt-4o");
  await assert.rejects(unknown, (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.match(error.message, /there is no model "gpt-4o"/);
    return true;
  });
});

test("faults become the error classes of the client, with our text", async () => {
  const wrong = client.withOptions({ apiKey: "wrong" });
  const text = { type: "text", text: "hi" };
  const video = { type: "video_url" };
  const file = [{ role: "user", content: [{ type: "input_file", file_id: "file-1" }] }];
  const tools = [{ type: "web_search" }];
  const { AuthenticationError, BadRequestError, NotFoundError } = OpenAI;
  const elsewhere = { headers: { "X-Avocet-Session": "nowhere" } };
  const table = [
    [AuthenticationError, /the token is unknown/, () => wrong.models.list()],
    [AuthenticationError, /the token is unknown/, () => wrong.responses.create({ input: "hi" })],
    [BadRequestError, /"web_search" is not supported/, () => respond("n-faults", "hi", { tools })],
    [BadRequestError, /`n` is not supported/, () => chat("n-faults", "hi", { n: 2, stream: true })],
    [BadRequestError, /`background` is not/, () => respond("n-faults", "hi", { background: true })],
    [BadRequestError, /"video_url" is not supported/, () => chat("n-faults", [text, video])],
    [NotFoundError, /there is no file "file-1"/, () => respond("n-faults", file)],
    [BadRequestError, /session id "nowhere"/, () => chat("n-faults", "hi", {}, elsewhere)],
    [NotFoundError, /there is no such path/, () => client.embeddings.create({ input: "hi" })],
  ];
  for (const [kind, message, call] of table) {
    await assert.rejects(async () => call(), (error) => {
      assert.ok(error instanceof kind, `${message}: ${error}`);
      assert.match(error.message, message);
      assert.match(error.code, /^urn:avocet:problem:|^unsupported_value$/);
      return true;
    });
  }
});

test("uploaded file is listed, read, named in a request and deleted", async () => {
  const file = await OpenAI.toFile(Buffer.from("notes"), "nötes.txt", { type: "text/plain" });
  const { id, filename, bytes, status } = await client.files.create({ file, purpose: "user_data" });
  assert.deepEqual([filename, bytes, status], ["nötes.txt", 5, "processed"]);
  assert.ok((await all(client.files.list())).some((one) => one.id === id));
  assert.equal((await client.files.retrieve(id)).id, id);
  assert.equal(await (await client.files.content(id)).text(), "notes");
  const content = [{ type: "input_text", text: "count to 1" }, { type: "input_file", file_id: id }];
  const response = await client.responses.create({ model: "avocet", input: [{ role: "user", content }] });
  assert.equal(response.status, "completed");
  assert.equal((await client.files.delete(id)).deleted, true);
  await assert.rejects(() => client.files.retrieve(id), OpenAI.NotFoundError);
});

test("user makes the session, and the header names another", async () => {
  const headers = { "X-Avocet-Session": "terminal:local:node-header" };
  await chat("n-session", "count to 1");
  await respond("n-session", "count to 2");
  await chat("n-session", "count to 1", {}, { headers });
  await respond("n-session", "count to 2", {}, { headers });
  for (const session of [sessionOf("n-session"), "terminal:local:node-header"]) {
    assert.deepEqual(await texts(session), ["count to 1", "count to 2"]);
  }
});

test("two requests of a user at once get their own replies", async () => {
  const ask = async (number) =>
    textOf(await all(await chat("n-two", `count to ${number}`, { stream: true })));
  assert.deepEqual(await Promise.all([ask(3), ask(2)]), ["1, 2, 3.", "1, 2."]);
  assert.deepEqual((await texts(sessionOf("n-two"))).sort(), ["count to 2", "count to 3"]);
});

test("turn goes on after the client leaves the stream", async () => {
  const chunks = await chat("n-leave", "count to 5", { stream: true });
  let id;
  for await (const chunk of chunks) {
    id = chunk.id;
    if (chunk.choices[0].delta.content) break;
  }
  assert.equal(await loggedReply(id), "1, 2, 3, 4, 5.");
});

test("turn goes on after an aborted request", async () => {
  const abort = new AbortController();
  const options = { signal: abort.signal };
  const events = await respond("n-abort", "count to 5", { stream: true }, options);
  let id;
  for await (const event of events) {
    if (event.type !== "response.created") continue;
    id = event.response.id;
    abort.abort();
  }
  assert.equal(await loggedReply(id), "1, 2, 3, 4, 5.");
});

test("timed out request is answered in the log", async () => {
  const options = { timeout: TIMEOUT_MS, headers: { "Idempotency-Key": "n-timeout" } };
  const timedOut = chat("n-timeout", "count to 10", {}, options);
  await assert.rejects(timedOut, OpenAI.APIConnectionTimeoutError);
  const { headers } = options;
  const completion = await chat("n-timeout", "count to 10", {}, { headers });
  assert.equal(completion.choices[0].message.content, TEN);
  assert.deepEqual(await texts(sessionOf("n-timeout")), ["count to 10"]);
});

test("retries of the client with a key ask once", async () => {
  const headers = { "Idempotency-Key": "n-retry" };
  const options = { timeout: TIMEOUT_MS, maxRetries: 20, headers };
  const completion = await chat("n-retry", "count to 10", {}, options);
  assert.equal(completion.choices[0].message.content, TEN);
  assert.deepEqual(await texts(sessionOf("n-retry")), ["count to 10"]);
});
