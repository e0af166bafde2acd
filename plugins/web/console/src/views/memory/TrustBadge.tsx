import { Badge } from "../../parts/index.js";
import type { Trust } from "../../types.js";

const MEANINGS: Record<Trust, string> = {
  full: "From an owner",
  user: "From an admitted person who is not an owner",
  low: "From a web page, a file or a forwarded message",
};

/** The trust level of a text, with its meaning as a hint. */
export function TrustBadge({ trust }: { trust: Trust }) {
  return <span title={MEANINGS[trust]}><Badge tone={trust === "low" ? "warn" : "neutral"}>{trust}</Badge></span>;
}
