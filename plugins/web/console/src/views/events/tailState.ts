/** The rows of the tail, and what changes them. */

import type { LogEvent } from "../../types.js";

export const MOST_ROWS = 500;

export interface TailState {
  /** Newest first, at most `MOST_ROWS`. */
  rows: LogEvent[];
  /** Events that came during a pause or the first load, newest first. */
  waiting: LogEvent[];
  isLoading: boolean;
  isPaused: boolean;
  isLoadingOlder: boolean;
  /** `true` until the first event of the log is shown. */
  hasOlder: boolean;
  /** `true` if newer rows were removed to make room for older ones, or were missed. */
  hasGap: boolean;
  error: unknown;
}

export type TailAction =
  | { type: "load"; isSameFilter: boolean }
  | { type: "loaded"; events: LogEvent[]; hasOlder: boolean }
  | { type: "failed"; error: unknown }
  | { type: "arrived"; event: LogEvent }
  | { type: "missed" }
  | { type: "pause" }
  | { type: "continue" }
  | { type: "loadOlder" }
  | { type: "loadedOlder"; events: LogEvent[]; hasOlder: boolean };

export const EMPTY_TAIL: TailState = {
  rows: [],
  waiting: [],
  isLoading: true,
  isPaused: false,
  isLoadingOlder: false,
  hasOlder: false,
  hasGap: false,
  error: undefined,
};

export function tailReducer(state: TailState, action: TailAction): TailState {
  switch (action.type) {
    case "load":
      return { ...EMPTY_TAIL, rows: action.isSameFilter ? state.rows : [] };
    case "loaded": {
      const rows = join(state.waiting, action.events);
      return { ...state, rows, waiting: [], isLoading: false, hasOlder: action.hasOlder };
    }
    case "failed":
      return { ...state, isLoading: false, isLoadingOlder: false, error: action.error };
    case "arrived":
      return state.isPaused || state.isLoading
        ? { ...state, waiting: [action.event, ...state.waiting].slice(0, MOST_ROWS) }
        : { ...state, rows: join([action.event], state.rows) };
    case "missed":
      return { ...state, hasGap: true };
    case "pause":
      return { ...state, isPaused: true };
    case "continue":
      return { ...state, rows: join(state.waiting, state.rows), waiting: [], isPaused: false };
    case "loadOlder":
      return { ...state, isLoadingOlder: true, isPaused: true, error: undefined };
    case "loadedOlder": {
      const rows = [...state.rows, ...action.events];
      return {
        ...state,
        rows: rows.slice(-MOST_ROWS),
        hasGap: state.hasGap || rows.length > MOST_ROWS,
        isLoadingOlder: false,
        hasOlder: action.hasOlder,
      };
    }
  }
}

/** Puts newer events in front of the rows. Events that the rows have already are left out. */
function join(newer: readonly LogEvent[], rows: readonly LogEvent[]): LogEvent[] {
  const newest = rows[0]?.seq ?? 0;
  return [...newer.filter(({ seq }) => seq > newest), ...rows].slice(0, MOST_ROWS);
}
