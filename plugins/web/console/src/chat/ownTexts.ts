import { isOwnSender } from "../login.js";
import type { TurnRecord } from "../types.js";
import { messagesOf } from "./items.js";
import type { Outgoing } from "./outgoing.js";

/** Returns the texts that were written here, the newest first, each once. */
export function ownTexts(turns: readonly TurnRecord[], waiting: readonly Outgoing[]): string[] {
  const messages = turns.flatMap((turn) => [...messagesOf(turn), ...turn.steps.flatMap(({ steered }) => steered)]);
  const taken = messages.map(({ message }) => message.inbound).filter(({ sender }) => isOwnSender(sender.id));
  const texts = [...taken.map(({ content }) => content.text), ...waiting.map(({ text }) => text)];
  return [...new Set(texts.filter((text) => text !== "").reverse())];
}
