/** Older events: the interface lists events forwards, so the page asks for a window of numbers. */

import { get } from "../../api.js";
import type { EventList, LogEvent } from "../../types.js";

export interface EventFilter {
  /** `turn.done`, or `turn` for all kinds of turns; empty for all. */
  kind: string;
  /** Empty for all. */
  session: string;
}

export interface OlderEvents {
  /** Newest first. */
  events: LogEvent[];
  hasOlder: boolean;
}

const PAGE = 100;
const MOST = 500;
const FIRST_WIDTH = 100;
/** A window without enough events is followed by a wider one. */
const WIDER = 4;

/** Returns at least a page of events before a number, or all of them. */
export async function eventsBefore(before: number, filter: EventFilter, signal: AbortSignal): Promise<OlderEvents> {
  const events: LogEvent[] = [];
  let end = before;
  let width = FIRST_WIDTH;
  while (end > 1 && events.length < PAGE) {
    const start = Math.max(0, end - 1 - width);
    events.push(...(await windowOf(start, end, filter, signal)));
    end = start + 1;
    width *= WIDER;
  }
  return { events, hasOlder: end > 1 };
}

/** Returns the number behind the newest event. */
export async function endOfLog(signal: AbortSignal): Promise<number> {
  const { newest } = await get<EventList>("/v1/events", { limit: 1 }, signal);
  return newest + 1;
}

/** Returns the events between two numbers, newest first. */
async function windowOf(after: number, end: number, filter: EventFilter, signal: AbortSignal): Promise<LogEvent[]> {
  const found: LogEvent[] = [];
  const { kind, session } = filter;
  for (let from = after; from < end - 1; ) {
    const page = await get<EventList>(
      "/v1/events",
      { after: from, limit: MOST, kinds: kind || null, session: session || null },
      signal,
    );
    found.push(...page.events.filter(({ seq }) => seq < end));
    if (page.next <= from || page.next >= page.newest) {
      break;
    }
    from = page.next;
  }
  return found.reverse();
}
