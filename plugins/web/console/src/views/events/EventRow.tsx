import { useMemo, useState } from "preact/hooks";

import { exactTime } from "../../format.js";
import { Badge, IconButton, Json, type Tone } from "../../parts/index.js";
import { href } from "../../router.js";
import type { LogEvent } from "../../types.js";
import { describe } from "./words.js";

const clock = new Intl.DateTimeFormat("en", { timeStyle: "medium", hour12: false });

/** One event in a line; a button shows all of it. */
export function EventRow({ event }: { event: LogEvent }) {
  const [isOpen, setOpen] = useState(false);
  // An event never changes, and the list has hundreds of rows.
  return useMemo(() => (
    <li class="event">
      <div class="event-line">
        <time class="event-time" dateTime={new Date(event.at).toISOString()} title={exactTime(event.at)}>{clock.format(event.at)}</time>
        <span class="event-kind"><Badge tone={toneOf(event)}>{event.kind}</Badge></span>
        <span class="event-text">{describe(event)}</span>
        <EventLinks event={event} />
        <IconButton
          icon={isOpen ? "down" : "right"}
          label={isOpen ? "Hide the details" : "Show the details"}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        />
      </div>
      {isOpen && <Json value={event} />}
    </li>
  ), [event, isOpen]);
}

function EventLinks({ event }: { event: LogEvent }) {
  const { session, message, memory, schedule, turn } = event;
  return (
    <span class="event-links">
      {session !== undefined && <a href={href("chat", session)}>{session}</a>}
      {message && <a href={href("trace", message.id)}>trace {message.id}</a>}
      {memory && <a href={href("memory", memory.id)}>{memory.id}</a>}
      {schedule && <a href={href("schedules", schedule.id)}>{schedule.id}</a>}
      {turn !== undefined && !message && <span>{turn}</span>}
    </span>
  );
}

const BAD = ["message.dead", "turn.failed", "delivery.dead", "log.rolled_back"];
const WARN = ["turn.waiting", "call.waiting", "call.interrupted", "delivery.unknown", "delivery.unconfirmed", "schedule.paused"];

function toneOf({ kind, tool }: LogEvent): Tone {
  if (BAD.includes(kind) || tool?.ok === false) {
    return "bad";
  }
  return WARN.includes(kind) ? "warn" : "neutral";
}
