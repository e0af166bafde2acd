import { Badge } from "../../parts/index.js";
import type { DeadReason } from "../../types.js";

/** The reason of a failure, as a badge. */
export function Reason({ reason }: { reason: DeadReason }) {
  return <Badge tone={reason === "unconfirmed" ? "warn" : "bad"}>{reason}</Badge>;
}

/** The meaning of a reason, in one sentence. */
export const MEANINGS: Record<DeadReason, string> = {
  refused: "The platform refused the message, or every attempt failed. The message has not arrived.",
  unconfirmed: "The platform confirmed no attempt. The message may have arrived.",
  dropped: "The agent has not answered this message of a person.",
};
