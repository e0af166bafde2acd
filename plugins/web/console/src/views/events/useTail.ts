import { useEffect, useReducer, useRef, useState } from "preact/hooks";

import { isAbort } from "../../api.js";
import { listen } from "../../live.js";
import { endOfLog, eventsBefore, type EventFilter } from "./older.js";
import { EMPTY_TAIL, tailReducer, type TailState } from "./tailState.js";

export interface Tail extends TailState {
  pause: () => void;
  /** Shows the newest events again. */
  proceed: () => void;
  /** Loads older events, and pauses. */
  older: () => void;
  reload: () => void;
}

/** The newest events of a filter, which follow the log. */
export function useTail({ kind, session }: EventFilter): Tail {
  const [state, dispatch] = useReducer(tailReducer, EMPTY_TAIL);
  const [attempt, setAttempt] = useState(0);
  const end = useRef(new AbortController());
  const reload = () => setAttempt((count) => count + 1);
  const loaded = useRef("");
  const isPaused = useRef(false);
  isPaused.current = state.isPaused;

  useEffect(() => {
    const own = new AbortController();
    end.current = own;
    const filter = { kind, session };
    const key = JSON.stringify(filter);
    dispatch({ type: "load", isSameFilter: loaded.current === key });
    loaded.current = key;
    const load = async () => eventsBefore(await endOfLog(own.signal), filter, own.signal);
    load().then(
      (older) => own.signal.aborted || dispatch({ type: "loaded", ...older }),
      (error: unknown) => own.signal.aborted || isAbort(error) || dispatch({ type: "failed", error }),
    );
    const stop = listen(kind === "" ? [] : [kind], (event) => {
      if (event === null) {
        // The stream has begun at the newest event: events before it may be missing.
        if (isPaused.current) {
          dispatch({ type: "missed" });
        } else {
          reload();
        }
      } else if (session === "" || event.session === session) {
        dispatch({ type: "arrived", event });
      }
    });
    return () => {
      own.abort();
      stop();
    };
  }, [kind, session, attempt]);

  const older = () => {
    const oldest = state.rows.at(-1)?.seq;
    if (oldest === undefined) {
      return;
    }
    const { signal } = end.current;
    dispatch({ type: "loadOlder" });
    eventsBefore(oldest, { kind, session }, signal).then(
      (page) => signal.aborted || dispatch({ type: "loadedOlder", ...page }),
      (error: unknown) => signal.aborted || dispatch({ type: "failed", error }),
    );
  };
  const proceed = () => (state.hasGap ? reload() : dispatch({ type: "continue" }));
  return { ...state, pause: () => dispatch({ type: "pause" }), proceed, older, reload };
}
