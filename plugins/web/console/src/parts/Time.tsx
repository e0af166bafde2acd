import { exactTime, relativeTime } from "../format.js";

/** A time in relation to now, as of the last rendering; the hint shows it exactly. */
export function Time({ at }: { at: number }) {
  return <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>{relativeTime(at)}</time>;
}
