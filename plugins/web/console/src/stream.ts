/** Server-sent events over `fetch`, because `EventSource` cannot send the token. */

import { ApiError, isAbort, send, sleep, type Query } from "./api.js";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

export interface StreamOptions {
  query?: Query;
  /** Called after each successful connection, before its events. */
  onOpen?: () => void;
  onEvent: (data: string, id: string | null) => void;
  /** Called when the connection is lost or cannot be made. The stream connects again by itself. */
  onLost?: () => void;
  /** Called for an error that a retry cannot fix. The stream has ended. */
  onError?: (error: ApiError) => void;
}

/** Follows a path until the returned function is called. */
export function follow(path: string, options: StreamOptions): () => void {
  const end = new AbortController();
  void run(path, options, end.signal);
  return () => end.abort();
}

async function run(path: string, options: StreamOptions, signal: AbortSignal): Promise<void> {
  let lastId: string | null = null;
  let pause = FIRST_PAUSE_MS;
  const opened = () => {
    pause = FIRST_PAUSE_MS;
    options.onOpen?.();
  };
  while (!signal.aborted) {
    try {
      await readOnce(path, options, signal, lastId, opened, (id) => (lastId = id));
    } catch (error) {
      if (isAbort(error) || signal.aborted) {
        return;
      }
      if (error instanceof ApiError && !error.isTransient) {
        options.onError?.(error);
        return;
      }
    }
    if (signal.aborted) {
      return;
    }
    options.onLost?.();
    // The random part keeps several tabs from connecting in the same instant.
    await sleep(pause * (0.75 + Math.random() / 2), signal).catch(() => undefined);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

async function readOnce(
  path: string,
  options: StreamOptions,
  signal: AbortSignal,
  lastId: string | null,
  opened: () => void,
  setId: (id: string) => void,
): Promise<void> {
  const headers = { Accept: "text/event-stream", ...(lastId !== null && { "Last-Event-ID": lastId }) };
  const response = await send(path, options.query, { headers, signal });
  opened();
  const parser = new EventParser((data, id) => {
    if (id !== null) {
      setId(id);
    }
    options.onEvent(data, id);
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || signal.aborted) {
      return;
    }
    parser.push(value);
  }
}

/** Splits a stream into events (HTML Living Standard, "Server-sent events"). */
export class EventParser {
  readonly #onEvent: (data: string, id: string | null) => void;
  #rest = "";
  #data: string[] = [];
  #id: string | null = null;

  constructor(onEvent: (data: string, id: string | null) => void) {
    this.#onEvent = onEvent;
  }

  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
    }
  }

  #line(line: string): void {
    if (line === "") {
      if (this.#data.length > 0) {
        this.#onEvent(this.#data.join("\n"), this.#id);
      }
      this.#data = [];
      this.#id = null;
      return;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") {
      this.#data.push(value);
    } else if (field === "id") {
      this.#id = value;
    }
  }
}
