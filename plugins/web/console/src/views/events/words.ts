/** Events in words. */

import { count, money, oneLine } from "../../format.js";
import type { EventKind, LogEvent } from "../../types.js";

/** All kinds, by table. */
export const KINDS: Record<string, readonly EventKind[]> = {
  message: ["message.queued", "message.corrected", "message.done", "message.dead"],
  turn: ["turn.queued", "turn.running", "turn.waiting", "turn.done", "turn.cancelled", "turn.failed"],
  model: ["model.answered"],
  usage: ["usage.recorded"],
  call: ["call.started", "call.waiting", "call.interrupted", "call.finished"],
  delivery: [
    "delivery.pending", "delivery.sending", "delivery.sent", "delivery.unknown", "delivery.unconfirmed", "delivery.dead",
  ],
  memory: ["memory.written", "memory.forgotten", "memory.undone"],
  schedule: ["schedule.active", "schedule.paused", "schedule.ended"],
  daemon: ["daemon.started"],
  log: ["log.rolled_back"],
};

const LIMIT = 160;

/** Returns the details of an event in one line; empty if it has none. */
export function describe(event: LogEvent): string {
  return oneLine(details(event), LIMIT);
}

function details(event: LogEvent): string {
  const { message, turn_info: turn, answer, usage, tool, delivery, memory, schedule } = event;
  if (message) {
    return `${message.sender_name ?? message.sender}: ${message.text}`;
  }
  if (turn) {
    const waits = turn.waits_for?.length ? `waits for ${turn.waits_for.join(", ")}` : undefined;
    return turn.notice ?? turn.answer ?? waits ?? turn.label ?? "";
  }
  if (answer) {
    return answer.calls?.length ? `calls ${answer.calls.join(", ")}` : answer.text;
  }
  if (usage) {
    const cost = usage.cost === null ? "unknown price" : money(usage.cost);
    return `${usage.model}, ${count(usage.input)} + ${count(usage.output)} tokens, ${cost}`;
  }
  if (tool) {
    return `${tool.name}${tool.ok === false ? " failed" : ""} ${JSON.stringify(tool.arguments)}`;
  }
  if (delivery) {
    return delivery.error ? `${delivery.id}: ${delivery.error}` : `${delivery.id}: ${delivery.text}`;
  }
  return memory ? (memory.text ?? memory.scope) : (schedule?.body ?? "");
}
