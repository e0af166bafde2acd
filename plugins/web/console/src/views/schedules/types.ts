/** Shapes of schedules: crates/protocol/src/schedule.rs. */

import type { ChatAddress, ChatKind, ScheduleId, Sender, Timestamp, Trust } from "../../types.js";

export type Recurrence =
  | { once: Timestamp }
  | { every: { seconds: number; from: Timestamp } }
  | { cron: string };

/** A text that is sent as it is, a task of the agent, or the path of a checklist. */
export type ScheduledWork = { text: string } | { task: string } | { checklist: string };

export type CatchUp = "skip" | "once" | "all";

export interface Schedule {
  id: ScheduleId;
  /** The name of its table in the configuration. */
  name: string | null;
  state: "active" | "paused" | "ended";
  /** The reason, if the daemon paused it. */
  reason: string | null;
  owner: { address: ChatAddress; chat: ChatKind; sender: Sender };
  rule: { recurrence: Recurrence; zone: string };
  work: ScheduledWork;
  agent: string | null;
  catch_up: CatchUp;
  /** `true` if an answer without news is not sent. */
  quiet: boolean;
  trust: Trust;
  next_at: Timestamp | null;
  made_at: Timestamp;
}

export interface ScheduleRun {
  due: Timestamp;
  claimed_at: Timestamp;
  result: "queued" | "sent" | "missed" | "empty" | "undeliverable";
  /** Number of earlier times that this run replaces. */
  skipped: number;
}

export interface ShownSchedule {
  schedule: Schedule;
  /** The times in words. */
  times: string;
  /** The next times in words. */
  next: string[];
  /** The last runs, newest first. */
  runs: ScheduleRun[];
}

/** Exactly one of the first four is a text. */
export interface TimesRequest {
  after: string | null;
  at: string | null;
  every: string | null;
  cron: string | null;
  zone: string | null;
}

/** The body of `POST /v1/schedules`. */
export interface AddSchedule {
  chat: ChatAddress;
  person: string | null;
  kind: ChatKind;
  times: TimesRequest;
  work: ScheduledWork;
  agent: string | null;
  catch_up: CatchUp;
  quiet: boolean;
}
