// A program that the daemon starts as a child.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Client } from "../dist/index.js";
import { Home, ROOT, until } from "../testing/support.js";

test("child is served over standard input and output", async (t) => {
  const home = new Home(t);
  const [library, platform] = [join(ROOT, "clients/typescript"), join(home.path, "platform")];
  mkdirSync(platform);
  home.configure(`
    [channels.chat]
    owners = ["ann"]
    command = ["/usr/bin/node", "${library}/testing/child.js"]
    read = ["${library}"]
    write = ["${platform}"]
  `);
  await home.start();
  const client = new Client({ path: home.socket, retrySeconds: 60 });
  t.after(() => client.close());
  const fault = async () => {
    const { channels } = await client.status();
    return channels.find(({ account }) => account === "external:chat").fault;
  };
  const texts = join(platform, "texts");
  const text = () => (existsSync(texts) ? readFileSync(texts, "utf8") : "");
  await until(async () => (await fault()) === null || undefined);
  await until(async () => text() === "1, 2.\n" || undefined);
  const log = () => home.log.join("\n");
  assert.match(log(), /the platform is away/);
  assert.match(log(), /the program of the channel: a print of a library/);
  assert.equal(log().split("a line that is no message").length, 2, log());
  await home.stop();
  assert.match(log(), /the daemon has closed the input/);
  assert.doesNotMatch(log(), /still runs/);
});

test("channel without an account is refused", () => {
  assert.throws(() => new Client("/nowhere").channel(), /name the account/);
});
