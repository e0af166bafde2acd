/** Requests to the HTTP interface: the token, errors, and repetitions of reads. */

import { Store } from "./store.js";

const TOKEN_KEY = "avocet.token";
const READ_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 300;

/** The token of this browser; `null` if there is none, or the daemon has refused it. */
export const token = new Store<string | null>(localStorage.getItem(TOKEN_KEY));

/** Keeps a new token, or forgets the present one. */
export function setToken(value: string | null): void {
  if (value === null) {
    localStorage.removeItem(TOKEN_KEY);
  } else {
    localStorage.setItem(TOKEN_KEY, value);
  }
  token.set(value);
}

// Another tab has logged in or out.
addEventListener("storage", (event) => {
  if (event.key === TOKEN_KEY) {
    token.set(event.newValue);
  }
});

/** An answer that reports an error, or no answer. */
export class ApiError extends Error {
  /** The HTTP status; 0 if the daemon could not be reached. */
  readonly status: number;
  /** The kind of error in words. */
  readonly title: string;

  constructor(status: number, title: string, detail: string) {
    super(detail);
    this.status = status;
    this.title = title;
  }

  /** `true` if the same request may succeed later. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 503;
  }
}

/** Parameters of the query. `undefined` and `null` are left out. */
export type Query = Record<string, string | number | boolean | null | undefined>;

export interface RequestOptions {
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Leaves the token out. An answer then says nothing about the token. */
  isAnonymous?: boolean;
}

/** Reads a path. Repeats the request a few times if the daemon cannot answer now. */
export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  let pause = FIRST_PAUSE_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request<T>("GET", path, { ...(query && { query }), ...(signal && { signal }) });
    } catch (error) {
      if (!(error instanceof ApiError && error.isTransient) || attempt === READ_ATTEMPTS) {
        throw error;
      }
      await sleep(pause, signal);
      pause *= 2;
    }
  }
}

/** Posts JSON to a path. */
export function post<T>(path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
  return request<T>("POST", path, { ...options, body: body ?? {} });
}

/** Puts JSON to a path. */
export function put<T>(path: string, body: unknown): Promise<T> {
  return request<T>("PUT", path, { body });
}

/** Deletes a path. */
export function remove<T>(path: string): Promise<T> {
  return request<T>("DELETE", path);
}

/** Sends one request. Returns `undefined` for an answer without a body. */
export async function request<T>(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<T> {
  const { query, body, headers = {}, signal, isAnonymous = false } = options;
  const response = await send(path, query, {
    method,
    headers: { ...(body !== undefined && { "Content-Type": "application/json" }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }, isAnonymous ? null : token.get());
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** Sends a request, by default with the token. Throws an `ApiError` unless the answer reports success. */
export async function send(
  path: string,
  query: Query | undefined,
  init: RequestInit,
  sent: string | null = token.get(),
): Promise<Response> {
  const headers = new Headers(init.headers);
  if (sent !== null) {
    headers.set("Authorization", `Bearer ${sent}`);
  }
  let response: Response;
  try {
    response = await fetch(path + queryString(query), { ...init, headers, cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted) {
      throw error;
    }
    throw new ApiError(0, "No connection", "The daemon cannot be reached. Start it with \"avocet run\", and open its port with \"avocet web\".");
  }
  if (!response.ok) {
    throw await refusal(response, sent);
  }
  return response;
}

/** Reads the error of an answer, and forgets a token that was refused. */
async function refusal(response: Response, sent: string | null): Promise<ApiError> {
  if (response.status === 401 && sent !== null && sent === token.get()) {
    setToken(null);
  }
  const problem = (await response.json().catch(() => ({}))) as { title?: string; detail?: string };
  const title = problem.title ?? (response.statusText || `Status ${response.status}`);
  return new ApiError(response.status, title, problem.detail ?? title);
}

/** Joins parts to a path, each of them encoded. */
export function path(...parts: string[]): string {
  return `/v1/${parts.map(encodeURIComponent).join("/")}`;
}

export function queryString(query: Query = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const params = new URLSearchParams(pairs.map(([key, value]) => [key, String(value)]));
  return pairs.length === 0 ? "" : `?${params}`;
}

/** Returns the text for a person. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Waits, and rejects when the signal is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(new DOMException("aborted", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    if (signal?.aborted) {
      abort();
    }
    signal?.addEventListener("abort", abort, { once: true });
  });
}
