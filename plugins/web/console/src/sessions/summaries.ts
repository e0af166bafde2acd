/** The sessions of the lists that this tab has loaded, for the titles of their chats. */

import { get, path, request, type Query } from "../api.js";
import { reloadAll } from "../live.js";
import { Store } from "../store.js";
import type { SessionSummary } from "../types.js";

const known = new Store<ReadonlyMap<string, SessionSummary>>(new Map());

/** The known sessions by their ids. */
export const summaries = known;

/** Loads a page of the list. */
export async function loadSessions(query: Query, signal: AbortSignal): Promise<SessionSummary[]> {
  const rows = await get<SessionSummary[]>("/v1/sessions", query, signal);
  known.set(new Map([...known.get(), ...rows.map((row) => [row.session, row] as const)]));
  return rows;
}

export type SessionLabels = Partial<Record<"is_pinned" | "is_archived", boolean>> & { title?: string };

/** Names, pins or archives a session. Lists load again. */
export async function changeSession(session: string, labels: SessionLabels): Promise<void> {
  await request<void>("PATCH", path("sessions", session), { body: labels });
  reloadAll();
}
