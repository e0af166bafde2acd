import { useEffect, useState } from "preact/hooks";

const TICK_MS = 1000;

/** Returns the time, each second while `isTicking`. */
export function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isTicking) {
      return;
    }
    const tick = () => document.hidden || setNow(Date.now());
    tick();
    const timer = setInterval(tick, TICK_MS);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}
