/** Routes by the hash of the address: `#/trace/m12`. */

import { Store, useStore } from "./store.js";

export interface Route {
  /** The first part: `trace`. */
  name: string;
  /** The other parts, decoded. */
  parts: string[];
}

const current = new Store<Route>(parse(location.hash));
let mayLeave: (() => boolean) | null = null;

addEventListener("hashchange", (event) => {
  if (mayLeave !== null && !mayLeave()) {
    history.replaceState(null, "", event.oldURL);
    return;
  }
  current.set(parse(location.hash));
});

/** Sets a function that decides if another view may open; `null` removes it. */
export function setLeaveGuard(guard: (() => boolean) | null): void {
  mayLeave = guard;
}

export function useRoute(): Route {
  return useStore(current);
}

/** Returns the link to a view. */
export function href(name: string, ...parts: string[]): string {
  // A colon may stay as it is, so that addresses of sessions are readable.
  const encoded = parts.map((part) => encodeURIComponent(part).replaceAll("%3A", ":"));
  return `#/${[name, ...encoded].join("/")}`;
}

/** Opens a view. */
export function go(name: string, ...parts: string[]): void {
  location.hash = href(name, ...parts);
}

function parse(hash: string): Route {
  const [name = "", ...parts] = hash.replace(/^#\/?/, "").split("/");
  return { name, parts: parts.map(decode) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
