/**
 * The event stream of the tab. A hidden tab closes it, because browsers allow few connections for a
 * host, and reports a gap when it is shown again. One hidden tab of the browser keeps its stream, so that
 * the person is told of answers (`away.ts`).
 */

import { token } from "./api.js";
import { Store } from "./store.js";
import { follow } from "./stream.js";
import type { LogEvent } from "./types.js";

/** `ended`: the daemon refuses the stream, and the page does not ask again. */
export type Connection = "connecting" | "open" | "lost" | "ended";

/** The state of the stream, for the bar at the top of the page. */
export const connection = new Store<Connection>("connecting");

/** Receives an event, or `null` if events may have been missed. */
export type Listener = (event: LogEvent | null) => void;

interface Subscription {
  kinds: readonly string[];
  listener: Listener;
}

/** The lock of the hidden tab that keeps its stream. */
const LOCK = "avocet.away";

const subscriptions = new Set<Subscription>();
let stop: (() => void) | null = null;
let isWatching = false;
let endWatch: (() => void) | null = null;

/**
 * Calls the listener for each event of the kinds: `turn.done`, or `turn` for all kinds of turns; an
 * empty list stands for every kind. Returns a function that stops the calls.
 */
export function listen(kinds: readonly string[], listener: Listener): () => void {
  const subscription = { kinds, listener };
  subscriptions.add(subscription);
  return () => subscriptions.delete(subscription);
}

/** Starts to follow the events. Called once, by the frame. */
export function startLive(): void {
  document.addEventListener("visibilitychange", adjust);
  token.follow(adjust);
  adjust();
}

/** Makes every view load again, after a change that has no event. */
export function reloadAll(): void {
  dispatch(null);
}

function adjust(): void {
  adjustWatch();
  const isWanted = (!document.hidden || isWatching) && token.get() !== null;
  if (isWanted && stop === null) {
    connection.set("connecting");
    stop = open();
  } else if (!isWanted && stop !== null) {
    stop();
    stop = null;
  }
}

/** A hidden tab asks for the lock, keeps its stream until the answer, and gives the lock back when it is shown. */
function adjustWatch(): void {
  if (!document.hidden) {
    endWatch?.();
    endWatch = null;
    isWatching = false;
  } else if (endWatch === null && "locks" in navigator) {
    const end = new AbortController();
    const shown = new Promise<void>((resolve) => end.signal.addEventListener("abort", () => resolve()));
    endWatch = () => end.abort();
    isWatching = true;
    const hold = (isHeld: boolean) => {
      if (!end.signal.aborted) {
        isWatching = isHeld;
        adjust();
      }
      return isHeld ? shown : Promise.resolve();
    };
    const wait = () => navigator.locks.request(LOCK, { signal: end.signal }, () => hold(true));
    const ask = navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => {
      if (lock === null) {
        void wait().catch(() => undefined);
      }
      return hold(lock !== null);
    });
    ask.catch(() => undefined);
  }
}

function open(): () => void {
  let hasPosition = false;
  return follow("/v1/events/stream", {
    onOpen: () => {
      connection.set("open");
      if (!hasPosition) {
        dispatch(null);
      }
    },
    onEvent: (data) => {
      hasPosition = true;
      dispatch(JSON.parse(data) as LogEvent);
    },
    onLost: () => connection.set("lost"),
    onError: () => connection.set("ended"),
  });
}

function dispatch(event: LogEvent | null): void {
  for (const { kinds, listener } of [...subscriptions]) {
    if (event === null || matches(kinds, event.kind)) {
      listener(event);
    }
  }
}

function matches(kinds: readonly string[], kind: string): boolean {
  const table = kind.slice(0, kind.indexOf("."));
  return kinds.length === 0 || kinds.some((wanted) => wanted === kind || wanted === table);
}
