import { useLayoutEffect } from "preact/hooks";

import { setLeaveGuard } from "../../router.js";

/** Asks before the page or the view is left, while `isDirty`. */
export function useLeaveGuard(isDirty: boolean): void {
  useLayoutEffect(() => {
    if (!isDirty) {
      return;
    }
    // The browser shows a question of its own.
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    setLeaveGuard(() => confirm("The configuration has changes that are not saved. Leave without them?"));
    return () => {
      removeEventListener("beforeunload", ask);
      setLeaveGuard(null);
    };
  }, [isDirty]);
}
