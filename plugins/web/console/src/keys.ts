/** Keys that act outside of text fields. */

import { useEffect, useRef } from "preact/hooks";

type Handler = () => void;

/** The last entry of a key wins, so that a view can replace a key of the frame. */
const handlers = new Map<string, Handler[]>();

/** `g` and a second key within this time are one command. */
const SEQUENCE_MS = 1500;

let first: { key: string; at: number } | null = null;

/** Binds a key (`n`) or two keys (`g s`) while the component is shown. */
export function useKey(key: string, handler: Handler): void {
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const entry = () => latest.current();
    handlers.set(key, [...(handlers.get(key) ?? []), entry]);
    return () => {
      handlers.set(key, (handlers.get(key) ?? []).filter((other) => other !== entry));
    };
  }, [key]);
}

/** Listens to the keyboard. Called once, by the frame. */
export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) {
      return;
    }
    const isSequence = first !== null && event.timeStamp - first.at < SEQUENCE_MS;
    const sequence = isSequence ? `${first!.key} ${event.key}` : event.key;
    first = null;
    const handler = handlers.get(sequence)?.at(-1);
    if (handler) {
      event.preventDefault();
      handler();
    } else if (event.key === "g") {
      first = { key: "g", at: event.timeStamp };
    }
  });
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  const isField = target instanceof HTMLElement && target.matches("input, textarea, select");
  // An open dialog has the keyboard for itself.
  return isField || document.querySelector("dialog[open]") !== null;
}
