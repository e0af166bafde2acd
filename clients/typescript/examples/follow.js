// Prints each reply on any channel, also after a restart of the daemon or of this program. The
// daemon keeps the position under the name `printer`.

import { Client } from "avocet-client";

const avocet = new Client();
const events = avocet.subscribe({ name: "printer", from: 0, kinds: ["delivery.sent"] });
for await (const { seq, delivery } of events) {
  // The details of an old event may have been removed.
  if (delivery) {
    console.log(seq, delivery.chat, delivery.text);
  }
}
