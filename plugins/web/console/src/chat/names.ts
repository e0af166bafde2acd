/** Names of chats. */

import { go } from "../router.js";

const LETTERS = "abcdefghijkmnpqrstuvwxyz";

/** The chat that exists from the beginning. */
export const MAIN_CHAT = "web:console:main";

/** Opens a chat with a new name. */
export function newChat(): void {
  go("chat", newName());
}

/** Returns the session of a new chat: `web:console:2026-11-27-kxvq`. */
export function newName(): string {
  const now = new Date();
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()]
    .map((part) => String(part).padStart(2, "0"))
    .join("-");
  const letters = [...crypto.getRandomValues(new Uint8Array(4))]
    .map((byte) => LETTERS[byte % LETTERS.length])
    .join("");
  return `web:console:${day}-${letters}`;
}

/** Returns the channel of a session: `telegram`. */
export function channelOf(session: string): string {
  return session.slice(0, Math.max(session.indexOf(":"), 0)) || session;
}

/** Returns the part of a session that people know: `main`. */
export function shortName(session: string): string {
  return session.split(":").slice(2).join(":") || session;
}

/** `true` for chats of the console, whose answers appear here alone. */
export function isOwnChannel(session: string): boolean {
  return session.startsWith("web:");
}

/** Sessions of work without a chat of people: tasks, jobs, schedules, requests of programs. */
const WITHOUT_PEOPLE = new Set(["spawn", "job", "schedule", "http", "mcp"]);

/** `true` if messages can be written to the session in this page. Its channel gets the answers. */
export function isWritable(session: string): boolean {
  return session.split(":").length > 2 && !WITHOUT_PEOPLE.has(channelOf(session));
}
