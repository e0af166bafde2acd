/** A client for the Unix socket of Avocet: ask the agent, send messages, follow events. */
export { Attachment, Channel, Delivery } from "./chats.js";
export { Client, defaultPath, } from "./client.js";
export { AvocetError, ConnectionLost, TimeoutError } from "./errors.js";
export { Subscription } from "./following.js";
export { servedAccount } from "./stdio.js";
export * from "./types.js";
