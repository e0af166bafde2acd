import { Spinner } from "../parts/index.js";
import type { TurnRecord } from "../types.js";
import { isLogged, type LiveTurn } from "./liveTurn.js";

/** One line about the work of an open turn. */
export function Status({ turn, live }: { turn: TurnRecord; live: LiveTurn | null }) {
  const text = statusText(turn, live);
  return text === null ? null : <p class="status"><Spinner label="" /><span>{text}</span></p>;
}

function statusText(turn: TurnRecord, live: LiveTurn | null): string | null {
  if (turn.state === "queued") {
    return "Waiting for the previous answer";
  }
  if (live === null) {
    return turn.state === "waiting" ? "Waiting" : "Working";
  }
  if (live.waitsFor !== null) {
    return WAITS[live.waitsFor];
  }
  if (live.tools.length > 0) {
    return `Running ${[...new Set(live.tools)].join(", ")}`;
  }
  if (live.isCompacting) {
    return "Compacting the earlier conversation";
  }
  return live.text !== "" && !isLogged(turn, live) ? null : "Thinking";
}

const WAITS = {
  approval: "Waiting for an approval",
  answer: "Waiting for an answer",
  child: "Waiting for a sub-agent",
  choice: "Waiting for a decision about a call",
} as const;
