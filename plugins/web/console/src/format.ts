/** Numbers, sizes and times for people. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hour12: false });
const dayOfYear = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const fullDay = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const number = new Intl.NumberFormat("en");

/** `Nov 27, 2026, 3:58:25 PM`. */
export function exactTime(at: number): string {
  return exact.format(at);
}

/** `15:58`. */
export function clockTime(at: number): string {
  return clock.format(at);
}

/** `5 min ago`, `in 2 h`, `Nov 27`. */
export function relativeTime(at: number, now = Date.now()): string {
  const distance = Math.abs(now - at);
  if (distance < 45 * SECOND) {
    return at > now + SECOND ? "in a moment" : "just now";
  }
  if (distance >= 7 * DAY) {
    const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear();
    return (isThisYear ? dayOfYear : fullDay).format(at);
  }
  const text =
    distance < HOUR ? `${Math.round(distance / MINUTE)} min`
    : distance < DAY ? `${Math.round(distance / HOUR)} h`
    : `${Math.round(distance / DAY)} d`;
  return at > now ? `in ${text}` : `${text} ago`;
}

/** `Today`, `Yesterday`, `Nov 25`. */
export function dayName(at: number, now = Date.now()): string {
  const day = new Date(at).toDateString();
  if (day === new Date(now).toDateString()) {
    return "Today";
  }
  if (day === new Date(now - DAY).toDateString()) {
    return "Yesterday";
  }
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return (isThisYear ? dayOfYear : fullDay).format(at);
}

/** `340 ms`, `2.4 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < SECOND) {
    return `${Math.round(milliseconds)} ms`;
  }
  if (milliseconds < 10 * SECOND) {
    return `${(milliseconds / SECOND).toFixed(1)} s`;
  }
  if (milliseconds < MINUTE) {
    return `${Math.round(milliseconds / SECOND)} s`;
  }
  if (milliseconds < HOUR) {
    return `${Math.floor(milliseconds / MINUTE)} min ${Math.round((milliseconds % MINUTE) / SECOND)} s`;
  }
  if (milliseconds < DAY) {
    return `${Math.floor(milliseconds / HOUR)} h ${Math.round((milliseconds % HOUR) / MINUTE)} min`;
  }
  return `${Math.floor(milliseconds / DAY)} d ${Math.round((milliseconds % DAY) / HOUR)} h`;
}

/** `512 B`, `1.4 kB`, `20 MB`. */
export function size(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** `12,345`. */
export function count(value: number): string {
  return number.format(value);
}

/** `3 turns`, `1 turn`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Billionths of a dollar as `$0.0123`. */
export function money(billionths: number): string {
  const dollars = billionths / 1e9;
  return `$${dollars.toFixed(dollars !== 0 && Math.abs(dollars) < 1 ? 4 : 2)}`;
}

/** The cost of a sum, in which some tokens may have no known price. */
export function price({ cost, unpriced }: { cost: number; unpriced: number }): string {
  if (unpriced === 0) {
    return money(cost);
  }
  return cost === 0 ? "unknown" : `${money(cost)} + unknown`;
}

/** Cuts a text to this number of characters and one line. */
export function oneLine(text: string, limit = 100): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}
