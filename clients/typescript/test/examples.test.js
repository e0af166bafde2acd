// The programs of the README and of `examples/`, run as they stand there.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { following, Home, ME, soon } from "../testing/support.js";

const FOLDER = fileURLToPath(new URL("../", import.meta.url));

/** Starts node in the home of the daemon. `lines` is an iterator over its output. */
function start(t, home, ...options) {
  const environment = { ...process.env, HOME: home.path };
  delete environment.XDG_STATE_HOME;
  // A process of the test runner would print for the runner.
  delete environment.NODE_TEST_CONTEXT;
  const child = spawn(process.execPath, options, { cwd: FOLDER, env: environment });
  t.after(() => child.kill("SIGKILL"));
  child.lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return child;
}

/** Runs node to its end. Returns its exit code, its output and its errors. */
async function run(t, home, ...options) {
  const child = start(t, home, ...options);
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    child[name].on("data", (text) => (texts[name] += text));
  }
  const [code] = await soon(once(child, "close"));
  return [code, texts.stdout, texts.stderr];
}

test("the program of the readme prints the reply", async (t) => {
  const home = new Home(t);
  await home.start();
  const readme = readFileSync(`${FOLDER}README.md`, "utf8");
  const [, program] = /```typescript\n(.*?)```/s.exec(readme);
  assert.ok(program.split("\n").length <= 12, "the README promises a short program");
  const ran = await run(t, home, "--input-type=module", "--eval", program);
  assert.deepEqual(ran, [0, "1, 2, 3.\n", ""]);
});

test("the example ask prints the reply or the error", async (t) => {
  const home = new Home(t);
  await home.start();
  const ask = (session) => run(t, home, "examples/ask.js", session, "count to 2");
  assert.deepEqual(await ask(ME), [0, "1, 2.\n", ""]);
  const [code, out, error] = await ask("nowhere");
  assert.deepEqual([code, out], [1, ""]);
  assert.match(error, /^error: ask: /);
});

test("the example chat prints replies, and follow prints them again", async (t) => {
  const home = new Home(t);
  await home.start();
  for (const [number, counted] of [[1, "1."], [2, "1, 2."]]) {
    const chat = start(t, home, "examples/chat.js", ME);
    chat.stdin.write(`count to ${number}\n`);
    assert.equal(await following(chat.lines), counted);
    // The end of the input ends the program after the confirmation.
    const ended = once(chat, "close");
    chat.stdin.end();
    assert.deepEqual(await soon(ended), [0, null]);
  }
  const follow = start(t, home, "examples/follow.js");
  assert.match(await following(follow.lines), /^\d+ terminal:local:me 1\.$/);
  assert.match(await following(follow.lines), /^\d+ terminal:local:me 1, 2\.$/);
});
