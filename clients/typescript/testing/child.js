// A channel that the daemon starts. Its platform is the file `texts` in its working directory.

import { appendFileSync } from "node:fs";

import { Client, servedAccount } from "../dist/index.js";

console.log("the library has not begun: the daemon ignores this line");
const client = new Client();
const channel = client.channel(undefined, { maxText: 400, capabilities: ["typing"] });
await channel.open();
// From now on, prints go to standard error.
console.log("a print of a library");
const chat = `external:${servedAccount()}:c1`;
channel.reportHealth(false, "the platform is away");
await channel.moveCursor("5");
await channel.withdrawMessage(chat, "unknown");
await channel.publish({ chat, sender: "ann", text: "count to 2", key: "k1" });
for await (const delivery of channel) {
  appendFileSync("texts", `${delivery.text}\n`);
  delivery.confirm();
  channel.reportHealth(true);
}
console.log("the daemon has closed the input");
