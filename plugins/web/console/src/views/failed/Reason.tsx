import { Badge } from "../../parts/index.js";
import type { DeadReason } from "../../types.js";

/** The reason of a failure, as a badge. */
export function Reason({ reason }: { reason: DeadReason }) {
  return <Badge tone={reason === "unconfirmed" ? "warn" : "bad"}>{reason}</Badge>;
}

/** The meaning of a reason, in one sentence. */
export const MEANINGS: Record<DeadReason, string> = {
  refused: "The platform refused it, or every attempt failed. It has not arrived.",
  unconfirmed: "No attempt was confirmed. It may have arrived.",
  dropped: "The agent dropped this message of a person without an answer.",
};
