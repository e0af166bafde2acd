/** Hooks that views share. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { isAbort } from "./api.js";
import { listen } from "./live.js";
import { Store } from "./store.js";
import type { LogEvent } from "./types.js";

export interface Load<T> {
  /** The last result. It stays while the next one is loaded, and after an error. */
  data: T | undefined;
  /** The error of the last attempt. */
  error: unknown;
  isLoading: boolean;
  reload: () => void;
}

export interface LoadOptions {
  /** Kinds of events that make the result old: `turn.done`, or `turn` for all kinds of turns. */
  on?: readonly string[];
  /** Returns `true` for events that matter. Default: all events of the kinds. */
  when?: (event: LogEvent) => boolean;
  /** Events within this time, in milliseconds, cause one request together. Default: 150. */
  gather?: number;
}

const GATHER_MS = 150;

/**
 * Loads data, and again when `inputs` change, when an event touches it, or on `reload`. The function
 * may be a new one in each rendering: only `inputs` count.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  options: LoadOptions = {},
): Load<T> {
  const [state, setState] = useState<Omit<Load<T>, "reload">>(BEFORE);
  const [attempt, setAttempt] = useState(0);
  const latest = useRef({ load, options });
  latest.current = { load, options };
  const reload = useCallback(() => setAttempt((count) => count + 1), []);

  // Data of other inputs must not be shown, not even for one frame.
  const key = JSON.stringify(inputs);
  const shown = useRef(key);
  const isStale = shown.current !== key;

  useEffect(() => {
    const end = new AbortController();
    const isOther = shown.current !== key;
    shown.current = key;
    setState((before) => ({ ...(isOther ? BEFORE : before), isLoading: true }));
    latest.current.load(end.signal).then(
      (data) => end.signal.aborted || setState({ data, error: undefined, isLoading: false }),
      (error: unknown) => {
        if (!end.signal.aborted && !isAbort(error)) {
          setState((before) => ({ ...before, error, isLoading: false }));
        }
      },
    );
    return () => end.abort();
  }, [key, attempt]);

  const matters = (event: LogEvent) => latest.current.options.when?.(event) ?? true;
  useReload(reload, options.on, matters, options.gather ?? GATHER_MS);
  return { ...(isStale ? BEFORE : state), reload };
}

const BEFORE = { data: undefined, error: undefined, isLoading: true };

/** Calls `reload` soon after events of the kinds, and after a gap in the stream. */
function useReload(
  reload: () => void,
  kinds: readonly string[] | undefined,
  when: (event: LogEvent) => boolean,
  gather: number,
): void {
  const key = kinds?.join(",");
  useEffect(() => {
    if (key === undefined) {
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = listen(key.split(",").filter(Boolean), (event) => {
      if (event === null || when(event)) {
        timer ??= setTimeout(() => {
          timer = undefined;
          reload();
        }, gather);
      }
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [key, reload, gather]);
}

/** Runs an action once at a time, with its error. */
export interface Action<A extends unknown[]> {
  run: (...parameters: A) => Promise<boolean>;
  isRunning: boolean;
  error: unknown;
  clear: () => void;
}

/** `run` returns `true` if the action succeeded. Calls during a run are ignored. */
export function useAction<A extends unknown[]>(
  action: (...parameters: A) => Promise<unknown>,
): Action<A> {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const latest = useRef(action);
  latest.current = action;
  const isBusy = useRef(false);
  const run = useCallback(async (...parameters: A) => {
    if (isBusy.current) {
      return false;
    }
    isBusy.current = true;
    setRunning(true);
    setError(undefined);
    try {
      await latest.current(...parameters);
      return true;
    } catch (error) {
      setError(error);
      return false;
    } finally {
      isBusy.current = false;
      setRunning(false);
    }
  }, []);
  return { run, isRunning, error, clear: useCallback(() => setError(undefined), []) };
}

/** Returns the value once it has stayed the same for this time. */
export function useSettled<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    if (Object.is(value, settled)) {
      return;
    }
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, settled, milliseconds]);
  return settled;
}

/** The title of the shown view, for the bar of a phone. */
export const pageTitle = new Store("");

/** Sets the title of the page while the component is shown. */
export function useTitle(title: string): void {
  useEffect(() => pageTitle.set(title), [title]);
}
