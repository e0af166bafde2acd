import type { ComponentChildren } from "preact";

export type Tone = "neutral" | "good" | "warn" | "bad" | "busy";

/** A short state. The text carries the meaning; the colour repeats it. */
export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const TONES: Record<string, Tone> = {
  queued: "busy", running: "busy", sending: "busy", pending: "busy", started: "busy",
  waiting: "warn", unknown: "warn", unconfirmed: "warn", paused: "warn", interrupted: "warn",
  done: "good", completed: "good", sent: "good", active: "good", replied: "good",
  failed: "bad", dead: "bad", refused: "bad", dropped: "bad", error: "bad",
};

/** The badge of a state word of the log. */
export function State({ word }: { word: string }) {
  return <Badge tone={TONES[word] ?? "neutral"}>{word.replaceAll("_", " ")}</Badge>;
}
