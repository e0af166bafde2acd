/** The time axis. Long waits are shortened, so that the work between them stays visible. */

import { duration } from "../../format.js";
import type { TraceRow } from "./rows.js";

export interface Gap {
  /** Positions from 0 to 1. */
  from: number;
  to: number;
  /** The length of the wait: `14 min 0 s`. */
  label: string;
}

export interface Scale {
  /** Returns the position of a time, from 0 to 1. */
  at: (time: number) => number;
  gaps: Gap[];
  ticks: { at: number; label: string }[];
}

type Interval = readonly [from: number, to: number];

/** A wait is shortened if it is longer than this share of the work. */
const LONG_WAIT = 0.4;
/** Shorter waits are never shortened. */
const LEAST_GAP_MS = 5000;
/** The width of a shortened wait, as a share of the work. */
const GAP_WIDTH = 0.12;
/** The width of a label on a phone: its margin, and each character. */
const LABEL_MARGIN = 0.04;
const LABEL_CHARACTER = 0.02;
const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3,
  1800e3, 3600e3, 7200e3, 21600e3, 43200e3, 86400e3, 604800e3,
];

/** Makes the axis of the rows. Open rows last until `now`. */
export function makeScale(rows: readonly TraceRow[], now: number): Scale {
  const begin = Math.min(...rows.map(({ start }) => start));
  const end = Math.max(begin + 1, ...rows.map((row) => row.end ?? now));
  const segments = widen(split(rows, begin, end, now));
  const at = (time: number) => {
    const found = segments.find(({ to }) => time <= to) ?? segments.at(-1)!;
    const share = (time - found.from) / Math.max(found.to - found.from, 1);
    return Math.min(1, Math.max(0, found.left + share * found.width));
  };
  const gaps = segments
    .filter(({ isGap }) => isGap)
    .map(({ from, to, left, width }) => ({ from: left, to: left + width, label: duration(to - from) }));
  return { at, gaps, ticks: ticks(segments, begin, at) };
}

interface Segment {
  from: number;
  to: number;
  isGap: boolean;
}

interface PlacedSegment extends Segment {
  left: number;
  width: number;
}

/** Splits the time into work and long waits. */
function split(rows: readonly TraceRow[], begin: number, end: number, now: number): Segment[] {
  const of = (wanted: (row: TraceRow) => boolean): Interval[] =>
    rows.filter(wanted).map((row) => [row.start, row.end ?? now] as const);
  const waits = of(({ kind, end }) => kind === "paused" || kind === "interrupted" || kind === "queued" || (kind === "delivery" && end === null));
  const work = of(({ kind, end }) => kind === "model" || (kind === "delivery" && end !== null));
  const idle = waits.reduce<Interval[]>((rest, wait) => [...rest, ...without(wait, [...work, ...rest])], []);
  const longest = Math.max((end - begin - sum(idle)) * LONG_WAIT, LEAST_GAP_MS);
  const gaps = idle.filter(([from, to]) => to - from > longest).sort((one, other) => one[0] - other[0]);
  const segments: Segment[] = [];
  let from = begin;
  for (const [start, stop] of gaps) {
    segments.push({ from, to: start, isGap: false }, { from: start, to: stop, isGap: true });
    from = stop;
  }
  segments.push({ from, to: end, isGap: false });
  const isOnlyWait = sum(gaps) >= end - begin;
  return isOnlyWait ? [{ from: begin, to: end, isGap: false }] : segments.filter(({ from, to }) => to > from);
}

/** Returns the parts of an interval that the others do not cover. */
function without(interval: Interval, others: readonly Interval[]): Interval[] {
  return others.reduce<Interval[]>(
    (parts, [from, to]) =>
      parts.flatMap(([start, end]): Interval[] => {
        if (to <= start || from >= end) {
          return [[start, end]];
        }
        const sides: Interval[] = [[start, from], [to, end]];
        return sides.filter(([left, right]) => right > left);
      }),
    [interval],
  );
}

function sum(intervals: readonly Interval[]): number {
  return intervals.reduce((total, [from, to]) => total + to - from, 0);
}

function widen(segments: readonly Segment[]): PlacedSegment[] {
  const work = segments.filter(({ isGap }) => !isGap).reduce((total, { from, to }) => total + to - from, 0);
  const weights = segments.map(({ from, to, isGap }) => (isGap ? work * GAP_WIDTH : to - from));
  const whole = Math.max(weights.reduce((total, weight) => total + weight, 0), 1);
  let left = 0;
  return segments.map((segment, index) => {
    const width = weights[index]! / whole;
    const placed = { ...segment, left, width };
    left += width;
    return placed;
  });
}

function ticks(segments: readonly PlacedSegment[], begin: number, at: (time: number) => number) {
  const work = segments.filter(({ isGap }) => !isGap).reduce((total, { from, to }) => total + to - from, 0);
  const step = STEPS_MS.find((one) => work / one <= 6) ?? STEPS_MS.at(-1)!;
  const found = [{ at: 0, label: "0 s" }];
  for (const { from, to, isGap } of segments) {
    const first = Math.ceil((from - begin) / step) * step;
    for (let time = first; !isGap && time <= to - begin; time += step) {
      const position = at(begin + time);
      const last = found.at(-1)!;
      if (position - last.at >= LABEL_MARGIN + LABEL_CHARACTER * last.label.length && position < 0.97) {
        found.push({ at: position, label: tickLabel(time) });
      }
    }
  }
  return found;
}

/** `500 ms`, `15 s`, `14 min 30 s`. */
function tickLabel(time: number): string {
  return duration(time).replace(/\.0 s$/, " s").replace(/ 0 (s|min|h)$/, "");
}
