/** The running turn, from the events of its stream. */

import type { TurnEvent, TurnRecord, WaitKind } from "../types.js";

export interface LiveTurn {
  turn: string;
  /** The step that is being written; `null` after a reload in the middle of a turn. */
  step: number | null;
  /** The text of this step so far. */
  text: string;
  /** Names of tools that run now. */
  tools: string[];
  waitsFor: WaitKind | null;
  isCompacting: boolean;
}

/** Returns the state after an event. */
export function afterEvent(live: LiveTurn | null, event: TurnEvent): LiveTurn | null {
  if (event.type === "started") {
    return { turn: event.turn, step: null, text: "", tools: [], waitsFor: null, isCompacting: false };
  }
  if (live === null) {
    return null;
  }
  switch (event.type) {
    case "condensing":
      return { ...live, isCompacting: true };
    case "thinking":
      return { ...live, step: event.step, text: "", tools: [], waitsFor: null, isCompacting: false };
    case "text":
      return { ...live, text: live.text + event.delta, waitsFor: null };
    case "restarted":
      return { ...live, text: "" };
    case "tool_started":
      return { ...live, tools: [...live.tools, event.name] };
    // The stream over HTTP has no thoughts.
    case "thought":
    case "tool_progress":
      return live;
    case "tool_finished":
      return { ...live, tools: without(live.tools, event.name) };
    case "waiting":
      return { ...live, waitsFor: event.kind };
    case "resumed":
      return { ...live, waitsFor: null };
    case "ended":
      return event.turn === live.turn ? { ...live, tools: [], waitsFor: null } : live;
  }
}

/** Removes the first of several equal names. */
function without(names: string[], name: string): string[] {
  const at = names.indexOf(name);
  return names.filter((_, index) => index !== at);
}

/** `true` if the record has the text of the step that was written last. */
export function isLogged(turn: TurnRecord, live: LiveTurn): boolean {
  const text = live.text.trim();
  return turn.steps.some((step) => (live.step === null ? step.text.trim() === text : step.number >= live.step));
}
