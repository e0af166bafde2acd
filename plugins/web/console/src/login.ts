/** The exchange of a one-time code for a token. */

import { ApiError, path, post, send, setToken, token } from "./api.js";
import { Store } from "./store.js";
import type { Login } from "./types.js";

const SENDER_KEY = "avocet.sender";
const BROWSER_KEY = "avocet.browser";

/** The code that has to be exchanged. */
export const loginCode = new Store<string | null>(null);

/** The error of the last exchange. */
export const loginError = new Store<unknown>(undefined);

/** Takes the code out of the address, now and whenever a link with a code is opened in this tab. */
export function watchLoginCode(): void {
  addEventListener("hashchange", takeCode);
  takeCode();
}

/** The code leaves the address at once, so that it stays out of the history and of copied links. */
function takeCode(): void {
  const found = /^#code=(.+)$/.exec(location.hash);
  if (found) {
    history.replaceState(null, "", `${location.pathname}#/`);
    dispatchEvent(new HashChangeEvent("hashchange"));
    loginCode.set(decodeURIComponent(found[1]!));
  }
}

/** Exchanges the code. The token is kept in this browser; a present one stays after an error. */
export async function logIn(code: string): Promise<void> {
  loginError.set(undefined);
  try {
    const login = await post<Login>("/v1/web/login", { code }, { isAnonymous: true });
    localStorage.setItem(SENDER_KEY, login.sender);
    localStorage.setItem(BROWSER_KEY, login.browser);
    setToken(login.token);
  } catch (error) {
    loginError.set(error);
  } finally {
    loginCode.set(null);
  }
}

/** Signs this browser out. The daemon also ends its token, if it can be reached. */
export async function logOut(): Promise<void> {
  const [ended, id] = [token.get(), localStorage.getItem(BROWSER_KEY)];
  setToken(null);
  if (ended === null || id === null) {
    return;
  }
  try {
    await send(path("web", "browsers", id), undefined, { method: "DELETE" }, ended);
  } catch (error) {
    if (!(error instanceof ApiError)) {
      throw error;
    }
  }
}

/** Returns `true` for the id of this browser. */
export function isOwnBrowser(id: string): boolean {
  return id === localStorage.getItem(BROWSER_KEY);
}

/** Returns `true` for the sender of the messages that are sent in this browser. */
export function isOwnSender(id: string): boolean {
  return id === localStorage.getItem(SENDER_KEY);
}
