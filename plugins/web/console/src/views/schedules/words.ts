/** Words for schedules. */

import type { ScheduledWork, ScheduleRun, ShownSchedule } from "./types.js";

export const WORK_TITLES = { text: "Text", task: "Task", checklist: "Checklist" } as const;

export const RESULTS: Record<ScheduleRun["result"], string> = {
  queued: "Handed to the agent",
  sent: "Text sent",
  missed: "Missed and skipped",
  empty: "The checklist was empty",
  undeliverable: "The chat is on no configured channel",
};

export const CATCH_UPS = {
  once: "Run once for all of them",
  skip: "Skip them",
  all: "Run each of them",
} as const;

export function workOf(work: ScheduledWork): { kind: keyof typeof WORK_TITLES; body: string } {
  if ("text" in work) {
    return { kind: "text", body: work.text };
  }
  return "task" in work ? { kind: "task", body: work.task } : { kind: "checklist", body: work.checklist };
}

/** Returns the table of the configuration that defines the schedule. */
export function tableOf({ schedule: { name } }: ShownSchedule): string | null {
  if (name === null) {
    return null;
  }
  return name === "heartbeat" ? "[heartbeat]" : `[schedules.${name}]`;
}
