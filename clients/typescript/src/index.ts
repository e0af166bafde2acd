/** A client for the Unix socket of Avocet: ask the agent, send messages, follow events. */

export {
  Client,
  defaultPath,
  type AskOptions,
  type CallOptions,
  type ClientOptions,
  type SubscribeOptions,
} from "./client.js";
export { AvocetError, ConnectionLost, TimeoutError } from "./errors.js";
export { Attachment, Delivery, Subscription } from "./following.js";
export * from "./types.js";
