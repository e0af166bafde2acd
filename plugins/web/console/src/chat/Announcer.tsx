import { useEffect, useState } from "preact/hooks";

import { isOpen } from "./items.js";
import type { Snapshot } from "./conversation.js";

/** The beginning of a reply that is read aloud; the whole of it can be read in the page. */
const MOST_CHARACTERS = 1000;

/** Reads the begin of the work and the finished reply aloud, instead of each piece of the text. */
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
  const text = isWorking ? "The agent works on an answer." : hasWorked ? reply.slice(0, MOST_CHARACTERS) : "";
  return <div class="sr-only" aria-live="polite">{text}</div>;
}
