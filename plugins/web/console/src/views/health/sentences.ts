/** The state of the daemon in sentences. */

import { counted, duration, relativeTime, size } from "../../format.js";
import type { ChannelStatus, DaemonStatus, LastExchanges, LogCheck, LogStatus, ProviderStatus, WaitingChat } from "../../types.js";

export interface Finding {
  tone: "good" | "warn" | "bad" | "neutral";
  /** The subject, in bold: `telegram:main`. */
  subject?: string;
  text: string;
  /** A view with more about it: its name and the text of the link. */
  more?: { view: string; title: string };
}

export function daemonFindings(status: DaemonStatus): Finding[] {
  const { pid, version, uptime_seconds: uptime, log, model } = status;
  return [
    pid === null
      ? { tone: "bad", text: "No daemon runs." }
      : { tone: "good", text: `Version ${version} has been running for ${duration(uptime * 1000)}, as process ${pid}.` },
    { tone: "neutral", text: `The model is ${model}.` },
    { tone: "neutral", text: `The log is in ${status.data_dir}. It has ${counted(log.messages, "message")} in ${counted(log.sessions, "session")}, and was opened ${counted(log.epoch, "time")}.` },
  ];
}

export function laneFindings({ queued, running, waiting }: LogStatus): Finding[] {
  const waits: Finding = {
    tone: "neutral",
    text: `${counted(waiting, "turn waits", "turns wait")} for a person or a sub-agent.`,
    more: { view: "approvals", title: "Approvals" },
  };
  return [
    { tone: "neutral", text: running === 0 ? "No turn is running." : `${counted(running, "turn is", "turns are")} running.` },
    ...(waiting > 0 ? [waits] : []),
    { tone: "neutral", text: queued === 0 ? "No message waits for its lane." : `${counted(queued, "message waits", "messages wait")} for a lane.` },
  ];
}

export function deliveryFindings({ pending, unconfirmed, dead, waiting_chats: chats, more_waiting_chats: others }: LogStatus): Finding[] {
  const more = { view: "failed", title: "Failed messages" };
  return [
    { tone: "neutral", text: pending === 0 ? "No part of a message waits for delivery." : `${counted(pending, "part of a message waits", "parts of messages wait")} for delivery.` },
    ...chats.map(waitingChatFinding),
    ...(others > 0 ? [{ tone: "neutral", text: `${counted(others, "more chat waits", "more chats wait")} for delivery.` } as const] : []),
    ...(unconfirmed > 0 ? [{ tone: "warn", text: `${counted(unconfirmed, "part", "parts")} may or may not have arrived.`, more } as const] : []),
    ...(dead > 0 ? [{ tone: "warn", text: `${counted(dead, "part was", "parts were")} abandoned.`, more } as const] : []),
  ];
}

function waitingChatFinding({ chat, count, since, attempts, error }: WaitingChat): Finding {
  if (error === null) {
    return { tone: "neutral", subject: chat, text: `${counted(count, "part waits", "parts wait")}. The first was added ${relativeTime(since)}.` };
  }
  const others = count === 1 ? "" : ` ${counted(count - 1, "part waits", "parts wait")} behind it.`;
  return {
    tone: "warn",
    subject: chat,
    text: `The next part has failed ${counted(attempts, "time")} since ${relativeTime(since)}: ${error}.${others}`,
  };
}

export function channelFinding({ account, fault, exchanges }: ChannelStatus): Finding {
  return exchangeFinding(account, fault, exchanges, "The platform has not been needed yet.");
}

export function providerFinding({ provider, fault, requests }: ProviderStatus): Finding {
  return exchangeFinding(provider, fault, requests, "No request was made yet.");
}

function exchangeFinding(subject: string, fault: string | null, { success, failure }: LastExchanges, unused: string): Finding {
  const last = success === null ? "" : ` The last success was ${relativeTime(success)}.`;
  if (fault !== null) {
    const row = failure && failure.in_a_row > 1 ? ` ${failure.in_a_row} failures in a row.` : "";
    return { tone: "bad", subject, text: `${sentence(fault)}${row}${last}` };
  }
  if (failure && failure.in_a_row > 0) {
    return { tone: "warn", subject, text: `The last exchange failed ${relativeTime(failure.at)}: ${failure.reason}.${last}` };
  }
  const before = failure === null ? "" : ` The last failure was ${relativeTime(failure.at)}: ${failure.reason}.`;
  return { tone: "good", subject, text: success === null ? `It works. ${unused}${before}` : `It works.${last}${before}` };
}

const CHECKS: Record<LogCheck, Finding> = {
  at_start: { tone: "good", text: "The log was checked before the start." },
  running: { tone: "neutral", text: "The log is being checked, because the last daemon did not stop in order." },
  whole: { tone: "good", text: "The log was checked after the start, and is whole." },
  skipped: { tone: "warn", text: "The log was not checked: it is too large, or the check could not run." },
  damaged: { tone: "bad", text: "The log is damaged. The daemon stops." },
};

export function storageFindings({ disk, log, log_check, audit_fault }: DaemonStatus): Finding[] {
  const { fault, free_bytes: free, writes } = disk;
  const written = writes.success === null ? "" : ` The last write was ${relativeTime(writes.success)}.`;
  const { rolled_back: back } = log;
  return [
    fault !== null ? { tone: "bad", text: sentence(fault) }
      : { tone: "good", text: free === null ? `The disk works.${written}` : `The disk works, with ${size(free)} free.${written}` },
    CHECKS[log_check],
    ...(audit_fault === null ? [] : [{ tone: "bad", text: `The audit table has a fault: ${audit_fault}.` } as const]),
    ...(back === null ? [] : [{ tone: "warn", text: `The log returned to an earlier state ${relativeTime(back.at)}: ${back.why}.` } as const]),
  ];
}

export function workFindings({ schedules, next_due: due, consolidation }: LogStatus): Finding[] {
  const next = due === null ? "" : ` The next time is ${relativeTime(due)}.`;
  const findings: Finding[] = [{
    tone: "neutral",
    text: schedules === 0 ? "No schedule is active." : `${counted(schedules, "schedule is", "schedules are")} active.${next}`,
    more: { view: "schedules", title: "Schedules" },
  }];
  if (consolidation === null) {
    return findings;
  }
  const { state, began_at: began, applied, error } = consolidation;
  const text =
    state === "failed" ? `The last consolidation of memories failed ${relativeTime(began)}: ${error ?? "unknown reason"}.`
    : state === "begun" ? `A consolidation of memories began ${relativeTime(began)}.`
    : `Memories were last consolidated ${relativeTime(began)}, with ${counted(applied, "change")}.`;
  return [...findings, { tone: state === "failed" ? "bad" : "neutral", text, more: { view: "memory", title: "Memory" } }];
}

/** Makes a sentence of a message. */
function sentence(text: string): string {
  const begin = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begin) ? begin : `${begin}.`;
}
