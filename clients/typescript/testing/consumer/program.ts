// A program that uses the built types. It is compiled without other packages, and never run.

import { AvocetError, type Channel, Client, ErrorCode, type MessageStatus } from "avocet-client";

const avocet = new Client({ client: "ci", token: "0123456789abcdef", retrySeconds: 5 });

export async function ask(text: string): Promise<string> {
  try {
    const answered: MessageStatus = await avocet.ask("terminal:local:me", text);
    return answered.reply ?? "";
  } catch (error) {
    if (error instanceof AvocetError && error.code === ErrorCode.NOT_ALLOWED) {
      return error.message;
    }
    throw error;
  }
}

export async function follow(): Promise<string | undefined> {
  for await (const event of avocet.subscribe({ name: "sync", kinds: ["message"] })) {
    return event.kind;
  }
  return undefined;
}

export async function receive(): Promise<number> {
  for await (const delivery of avocet.attach("terminal:local:me")) {
    return delivery.text.length;
  }
  return 0;
}

export async function readFile(channel: Channel): Promise<Uint8Array | undefined> {
  for await (const delivery of channel) {
    return await delivery.readFile(0);
  }
  return undefined;
}

export async function readStatus(): Promise<string> {
  const status = await avocet.status();
  return `${status.version}: ${String((await avocet.sessions()).length)} sessions`;
}
