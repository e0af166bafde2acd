// The AI SDK against a running daemon. `tests/e2e/sdks.rs` starts both.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");
const { generateText, jsonSchema, stepCountIs, streamText, tool } = require("ai");

const { AVOCET_URL: url, AVOCET_TOKEN: apiKey } = process.env;
const provider = createOpenAICompatible({ name: "avocet", baseURL: `${url}/v1`, apiKey, includeUsage: true });
const model = provider("avocet");
const common = { model, maxRetries: 0 };

test("text and its usage", async () => {
  const { text, usage, finishReason } = await generateText({ ...common, system: "Be brief.", prompt: "count to 2" });
  assert.deepEqual([text, finishReason], ["1, 2.", "stop"]);
  assert.equal(typeof usage.totalTokens, "number");
});

test("streamed text", async () => {
  const stream = streamText({ ...common, prompt: "count to 2" });
  let text = "";
  for await (const delta of stream.textStream) text += delta;
  assert.equal(text, "1, 2.");
  assert.equal(typeof (await stream.usage).totalTokens, "number");
});

test("earlier messages of the request", async () => {
  const messages = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "hello" },
    { role: "user", content: "count to 1" },
  ];
  assert.equal((await generateText({ ...common, messages })).text, "1.");
});

test("a tool that the client runs", async () => {
  const cities = [];
  const weather = tool({
    description: "Tells the weather.",
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
    execute: async ({ city }) => {
      cities.push(city);
      return "minus 3";
    },
  });
  const asked = { ...common, prompt: "weather Oslo", tools: { weather }, stopWhen: stepCountIs(3) };
  const { steps, text } = await generateText(asked);
  assert.deepEqual(cities, ["Oslo"]);
  assert.equal(steps.length, 2);
  assert.ok(text);
});
