/** A whole conversation as a file. */

import { get, path } from "../api.js";
import { isOpen, messagesOf } from "../chat/items.js";
import { exactTime } from "../format.js";
import type { LoggedCall, LoggedInbound, TurnRecord } from "../types.js";

const PAGE = 500;

export type ExportFormat = "markdown" | "json";

/** Loads all turns, the oldest first. */
export async function loadTurns(session: string): Promise<TurnRecord[]> {
  const turns: TurnRecord[] = [];
  for (;;) {
    const before = turns[0]?.id;
    const page = await get<TurnRecord[]>(path("sessions", session), { turns: PAGE, before });
    if (page.length === 0) {
      return turns;
    }
    turns.unshift(...page);
  }
}

/** Hands a conversation to the browser as a file. */
export async function exportSession(session: string, title: string, format: ExportFormat): Promise<void> {
  const turns = await loadTurns(session);
  const [text, type, end] = format === "json"
    ? [`${JSON.stringify(turns, null, 2)}\n`, "application/json", "json"]
    : [asMarkdown(title, turns), "text/markdown", "md"];
  const url = URL.createObjectURL(new Blob([text], { type }));
  const name = `${title.replace(/[^\p{L}\p{N} _-]+/gu, "").trim().slice(0, 60) || "conversation"}.${end}`;
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  // Some browsers read the object only after this function has returned.
  setTimeout(() => URL.revokeObjectURL(url), 30_000);
}

/** Writes a conversation for people: messages, answers, and calls with their arguments and results. */
export function asMarkdown(title: string, turns: readonly TurnRecord[]): string {
  const parts = [`# ${title}`];
  for (const turn of turns) {
    parts.push(`## ${exactTime(turn.started_at)}`);
    parts.push(...messagesOf(turn).map(message));
    if ("child" in turn.origin) {
      parts.push(said("Task", turn.origin.child.prompt));
    }
    for (const step of turn.steps) {
      if (step.text.trim() !== "") {
        parts.push(said("Avocet", step.text));
      }
      parts.push(...step.calls.map(call), ...step.steered.map(message));
    }
    if (turn.notice !== null) {
      parts.push(said("Notice", turn.notice));
    } else if (isOpen(turn)) {
      parts.push(said("Notice", "The answer is not complete yet."));
    }
  }
  return `${parts.join("\n\n")}\n`;
}

function message({ message: { inbound } }: LoggedInbound): string {
  const files = (inbound.content.attachments ?? []).map((file) => `[${file.kind}: ${file.name ?? "without a name"}]`);
  return said(inbound.sender.name ?? inbound.sender.id, [inbound.content.text, ...files].filter(Boolean).join("\n"));
}

function said(who: string, text: string): string {
  return `**${who}:**\n\n${text.trim()}`;
}

function call({ call: { name, arguments: given }, state }: LoggedCall): string {
  const shown = "object" in given ? given.object : given.malformed;
  const result = typeof state === "object" && "finished" in state ? `\n\n${fenced(state.finished.value)}` : "";
  return `**${name}**\n\n${fenced(shown)}${result}`;
}

/** Puts a value into a block of code whose fence is longer than every row of backticks in it. */
function fenced(value: unknown): string {
  const text = typeof value === "string" ? value.trimEnd() : JSON.stringify(value, null, 2);
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([row]) => row.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
