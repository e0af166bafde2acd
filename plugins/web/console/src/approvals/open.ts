/** The calls that wait for an approval, shared by the navigation, the chat and the list. */

import { useEffect } from "preact/hooks";

import { get, path, post } from "../api.js";
import { useLoad, type Load } from "../hooks.js";
import { Store, useStore } from "../store.js";
import type { OpenApproval } from "../types.js";

/** A page has at most this number of rows. */
const MOST = 500;

export type Decision = "once" | "for_session" | "denied";

const EVENTS = ["call.waiting", "call.finished", "turn.waiting", "turn.running", "turn.cancelled", "turn.failed"];
const load = new Store<Load<OpenApproval[]>>({
  data: undefined, error: undefined, isLoading: true, reload: () => undefined,
});

/** Keeps the list up to date. Called once, by the frame. */
export function useFollowedApprovals(): void {
  const query = { limit: MOST };
  const present = useLoad((signal) => get<OpenApproval[]>("/v1/approvals", query, signal), [], { on: EVENTS });
  useEffect(() => load.set(present), [present.data, present.error, present.isLoading]);
}

export function useApprovals(): Load<OpenApproval[]> {
  return useStore(load);
}

export async function decide(id: string, decision: Decision, why: string): Promise<void> {
  const body = { decision, ...(decision === "denied" && why !== "" && { why }) };
  await post(path("approvals", id), body);
  load.get().reload();
}
