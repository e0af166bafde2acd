import { useEffect, useState } from "preact/hooks";

import { isOpen } from "./items.js";
import type { Snapshot } from "./conversation.js";

/** A screen reader announces only this part of a reply; the page has the whole reply. */
const MOST_CHARACTERS = 1000;

/** Announces the start of the work and the finished reply to screen readers, instead of each piece of text. */
export function Announcer({ turns }: Pick<Snapshot, "turns">) {
  const last = turns.at(-1);
  const isWorking = last !== undefined && isOpen(last);
  const [hasWorked, setWorked] = useState(false);
  useEffect(() => {
    if (isWorking) {
      setWorked(true);
    }
  }, [isWorking]);
  const reply = last?.steps.at(-1)?.text || last?.notice || "";
  const text = isWorking ? "The agent is working on an answer." : hasWorked ? reply.slice(0, MOST_CHARACTERS) : "";
  return <div class="sr-only" aria-live="polite">{text}</div>;
}
