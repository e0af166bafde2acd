/** The rows of a conversation: turns, and texts that were sent to the chat outside of turns. */

import type { LoggedInbound, DeliveredText, TurnRecord } from "../types.js";

export type Item =
  | { kind: "turn"; key: string; at: number; turn: TurnRecord }
  | { kind: "sent"; key: string; at: number; sent: DeliveredText };

const OPEN = new Set(["queued", "running", "waiting"]);

export function isOpen(turn: TurnRecord): boolean {
  return OPEN.has(turn.state);
}

/** Merges both by time. Texts before the oldest loaded turn wait until older turns are loaded. */
export function itemsOf(turns: readonly TurnRecord[], sent: readonly DeliveredText[], isComplete: boolean): Item[] {
  const rows: Item[] = turns.map((turn) => ({ kind: "turn", key: turn.id, at: beginning(turn), turn }));
  const first = isComplete ? -Infinity : (rows[0]?.at ?? -Infinity);
  for (const text of sent) {
    if (text.at >= first) {
      rows.push({ kind: "sent", key: text.delivery, at: text.at, sent: text });
    }
  }
  return rows.sort((one, other) => one.at - other.at);
}

function beginning(turn: TurnRecord): number {
  return messagesOf(turn)[0]?.received_at ?? turn.started_at;
}

/** Returns the messages that started a turn; empty for a task of another turn. */
export function messagesOf(turn: TurnRecord): LoggedInbound[] {
  return "messages" in turn.origin ? turn.origin.messages : [];
}

/** Returns the ids of all messages that turns have taken in. */
export function takenMessages(turns: readonly TurnRecord[]): Set<string> {
  const taken = turns.flatMap((turn) => [...messagesOf(turn), ...turn.steps.flatMap((step) => step.steered)]);
  return new Set(taken.map(({ id }) => id));
}

/** Returns the number in an id such as `t12`. */
export function idNumber(id: string): number {
  return Number(id.slice(1));
}

/** Adds rows to a list in the order of their ids. Unchanged rows stay the same objects. */
export function merged<Row>(before: readonly Row[], rows: readonly Row[], id: (row: Row) => string): Row[] {
  const all = new Map(before.map((row) => [id(row), row]));
  for (const row of rows) {
    const known = all.get(id(row));
    if (known === undefined || JSON.stringify(known) !== JSON.stringify(row)) {
      all.set(id(row), row);
    }
  }
  return [...all.values()].sort((one, other) => idNumber(id(one)) - idNumber(id(other)));
}
