/** New chats with the beginning of a conversation. The conversation itself stays as it is. */

import { path, post } from "../api.js";
import { reloadAll } from "../live.js";
import { go } from "../router.js";
import type { TurnRecord } from "../types.js";
import { messagesOf } from "./items.js";
import { isOwnChannel, newName } from "./names.js";
import { queueMessage } from "./outgoing.js";

/** Opens a chat with everything up to the answer of a turn. */
export async function branchFrom(turn: TurnRecord): Promise<void> {
  const into = await branch(turn.session, { through: turn.id });
  go("chat", into);
}

/** Opens a chat with everything before a turn, and sends the message of the turn again. */
export async function regenerate(turn: TurnRecord, text: string): Promise<void> {
  const into = await branch(turn.session, { before: turn.id });
  queueMessage(into, text);
  go("chat", into);
}

/** Returns the text that can be sent again in another chat; `null` if files or other messages belong to it. */
export function textToRegenerate(turn: TurnRecord): string | null {
  const [message, ...others] = messagesOf(turn);
  const content = message?.message.inbound.content;
  const isAlone = others.length === 0 && !content?.attachments?.length && isOwnChannel(turn.session);
  return isAlone && content?.text ? content.text : null;
}

async function branch(session: string, end: { through?: string; before?: string }): Promise<string> {
  const into = newName();
  await post(path("sessions", session, "branches"), { into, ...end });
  reloadAll();
  return into;
}
