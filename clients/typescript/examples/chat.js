// A chat in lines: each line of stdin goes to the agent, each message for the chat is printed. The
// name of the chat is the argument, and Ctrl-D ends the chat:
//     node chat.js terminal:local:bot

import { createInterface } from "node:readline";

import { Client } from "avocet-client";

const name = process.argv[2];
const avocet = new Client();
const chat = avocet.attach(name);
await chat.open();
const input = createInterface(process.stdin);
input.on("line", (line) => avocet.publish(name, line));
input.on("close", () => {
  chat.close();
  avocet.close();
});
for await (const delivery of chat) {
  console.log(delivery.repeat ? `(again) ${delivery.text}` : delivery.text);
  delivery.confirm();
}
