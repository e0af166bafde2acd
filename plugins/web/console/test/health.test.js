import assert from "node:assert/strict";
import { test } from "node:test";

import { source } from "./source.js";

const { channelFinding, deliveryFindings, laneFindings, storageFindings } = await source("views/health/sentences.ts");

const none = { success: null, failure: null };
const now = Date.now();

test("channelFinding tells a fault, a failed exchange and a channel that works apart", () => {
  const failure = { at: now, reason: "429", in_a_row: 3 };
  const cases = [
    [{ fault: null, exchanges: none }, "good", "It works. The platform has not been needed yet."],
    [{ fault: null, exchanges: { success: now, failure: null } }, "good", "It works. The last success was just now."],
    [{ fault: null, exchanges: { success: null, failure } }, "warn", "The last exchange failed just now: 429."],
    [{ fault: "the token is wrong", exchanges: { success: null, failure } }, "bad", "The token is wrong. 3 failures in a row."],
    [{ fault: "gone.", exchanges: none }, "bad", "Gone."],
  ];
  for (const [channel, tone, text] of cases) {
    assert.deepEqual(channelFinding({ account: "telegram:main", ...channel }), { subject: "telegram:main", tone, text });
  }
});

test("sentences about queues count in words", () => {
  const texts = (findings) => findings.map(({ text }) => text);
  assert.deepEqual(texts(laneFindings({ queued: 0, running: 0, waiting: 0 })), ["No turn is running.", "No message waits for its lane."]);
  assert.deepEqual(texts(laneFindings({ queued: 2, running: 1, waiting: 1 })), [
    "1 turn is running.", "1 turn waits for a person or a sub-agent.", "2 messages wait for a lane.",
  ]);
  const chats = [
    { chat: "slack:a:b", count: 3, next: "o7", since: now, attempts: 4, error: "429" },
    { chat: "slack:a:c", count: 1, next: "o9", since: now, attempts: 0, error: null },
  ];
  const deliveries = { pending: 6, unconfirmed: 0, dead: 1, waiting_chats: chats, more_waiting_chats: 2 };
  assert.deepEqual(texts(deliveryFindings(deliveries)), [
    "6 parts of messages wait for delivery.",
    "The next part has failed 4 times since just now: 429. 2 parts wait behind it.",
    "1 part waits. The first was added just now.",
    "2 more chats wait for delivery.",
    "1 part was abandoned.",
  ]);
});

test("storageFindings reports each fault of the log", () => {
  const disk = { free_bytes: null, fault: null, writes: none };
  const tones = (more) => storageFindings({ disk, log: { rolled_back: null }, log_check: "whole", audit_fault: null, ...more }).map(({ tone }) => tone);
  const cases = [
    [{}, ["good", "good"]],
    [{ disk: { ...disk, fault: "the disk is full" } }, ["bad", "good"]],
    [{ log_check: "damaged" }, ["good", "bad"]],
    [{ audit_fault: "row 3 differs" }, ["good", "good", "bad"]],
    [{ log: { rolled_back: { at: now, why: "a snapshot" } } }, ["good", "good", "warn"]],
  ];
  for (const [more, expected] of cases) {
    assert.deepEqual(tones(more), expected);
  }
});
