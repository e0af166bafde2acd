/** Iterators that follow the daemon over restarts, and the one over the events of the log. */

import { Backoff } from "./backoff.js";
import {
  type Connection,
  connectTo,
  type DaemonRequest,
  type Endpoint,
  type Handler,
} from "./connection.js";
import { AvocetError, ConnectionLost } from "./errors.js";
import {
  ErrorCode,
  type EventBatch,
  type LogEvent,
  type Subscribe,
  type Subscribed,
} from "./types.js";

/** A request and the connection that it came over. */
export interface Received {
  connection: Connection;
  request: DaemonRequest;
}

/** A connection of its own that is opened again whenever it is lost. */
export abstract class Following<T> implements AsyncIterableIterator<T> {
  protected readonly endpoint: Endpoint;
  #connection: Connection | undefined;
  // Kept until a request arrives, so that a daemon that fails again and again is spared.
  #backoff: Backoff | undefined;
  #wasOpen = false;
  #isClosed = false;

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
  }

  /** Returns the next item. The iteration ends after `close`. */
  abstract next(): Promise<IteratorResult<T, undefined>>;

  protected abstract begin(): Promise<Connection>;

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the connection when a loop is left. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.close();
    return { done: true, value: undefined };
  }

  /**
   * Begins to follow. Without this call, the first step of the iteration begins it. Before the
   * first success, the daemon is tried for `retrySeconds`; later without a limit.
   */
  async open(): Promise<void> {
    if (this.#isClosed) {
      throw new Error("it is closed; make a new one");
    }
    await this.#connected();
  }

  /** Ends the connection. A running iteration ends. */
  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
  }

  /** The open connection; `undefined` if there is none at present. */
  protected get current(): Connection | undefined {
    return this.#connection?.isOpen ? this.#connection : undefined;
  }

  /** Opens a connection and makes the first request. */
  protected async connect(
    method: string,
    params: unknown,
    handler?: Handler,
  ): Promise<[Connection, unknown]> {
    const connection = await connectTo(this.endpoint, handler);
    return [connection, await connection.firstCall(method, params)];
  }

  /**
   * Returns the next request of a method, over as many connections as it takes; `undefined` after
   * `close`.
   */
  protected async nextRequest(method: string): Promise<Received | undefined> {
    for (;;) {
      const connection = await this.#connected();
      if (connection === undefined) {
        return undefined;
      }
      try {
        const request = await connection.nextRequest();
        this.#backoff = undefined;
        if (request.method === method) {
          return { connection, request };
        }
        const unknown = `this program answers ${method}, and no ${request.method}`;
        connection.refuse(request, ErrorCode.METHOD, unknown);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) {
          throw error;
        }
        if (!this.#isClosed) {
          await this.#pause(error);
        }
      }
    }
  }

  /** Returns the open connection, or opens one; `undefined` after `close`. */
  async #connected(): Promise<Connection | undefined> {
    while (!this.#isClosed) {
      if (this.#connection?.isOpen) {
        return this.#connection;
      }
      if (this.#connection?.refusal !== undefined) {
        throw this.#connection.refusal;
      }
      if (this.#connection !== undefined && this.endpoint.isParent) {
        this.#isClosed = true;
        break;
      }
      try {
        this.#connection = await this.begin();
        this.#backoff = this.#wasOpen ? this.#backoff : undefined;
        this.#wasOpen = true;
      } catch (error) {
        if (!(error instanceof AvocetError && error.isTransient)) {
          throw error;
        }
        await this.#pause(error);
      }
    }
    // The program has closed it while it was being opened.
    this.#connection?.close();
    return undefined;
  }

  async #pause(error: AvocetError): Promise<void> {
    this.#backoff ??= new Backoff(this.#wasOpen ? Infinity : this.endpoint.retrySeconds);
    await this.#backoff.pause(error);
  }
}

/**
 * The events of the log, oldest first.
 *
 * A batch is confirmed when the program asks for the event behind its last one. After a lost
 * connection the iteration continues, and repeated events are dropped. After a restart of the
 * program, the events of the last batch come again.
 */
export class Subscription extends Following<LogEvent> {
  readonly #params: Subscribe;
  #events: LogEvent[] = [];
  #batch: (Received & { next: number }) | undefined;
  #last = 0;
  #log: string | undefined;
  #position: number | undefined;
  #removed = 0;

  /** Use `Client.subscribe`. */
  constructor(endpoint: Endpoint, params: Subscribe) {
    super(endpoint);
    this.#params = params;
  }

  /**
   * The identity of the log; `undefined` before the begin. It changes when the log was rolled back
   * or replaced. Events may then come again.
   */
  get log(): string | undefined {
    return this.#log;
  }

  /**
   * The last confirmed event; `undefined` before the begin. A program without a name may keep it
   * and give it as `from`.
   */
  get position(): number | undefined {
    return this.#position;
  }

  /** The number of events that were removed because of their age before they were read. */
  get removed(): number {
    return this.#removed;
  }

  override async next(): Promise<IteratorResult<LogEvent, undefined>> {
    for (;;) {
      for (let event = this.#events.shift(); event; event = this.#events.shift()) {
        if (event.seq > this.#last) {
          this.#last = event.seq;
          return { done: false, value: event };
        }
      }
      if (!(await this.#nextBatch())) {
        return { done: true, value: undefined };
      }
    }
  }

  async #nextBatch(): Promise<boolean> {
    if (this.#batch) {
      this.#position = this.#batch.next;
      this.#batch.connection.answer(this.#batch.request, {});
      this.#batch = undefined;
    }
    const received = await this.nextRequest("events");
    if (received) {
      const { events, next } = received.request.params as EventBatch;
      this.#batch = { ...received, next };
      this.#events = events;
    }
    return received !== undefined;
  }

  protected override async begin(): Promise<Connection> {
    // The position is without effect for a name that the daemon knows.
    const position = this.#position === undefined ? {} : { from: this.#position };
    const [connection, result] = await this.connect("subscribe", { ...this.#params, ...position });
    const { log, from, removed } = result as Subscribed;
    if (this.#log !== log) {
      this.#log = log;
      this.#last = from;
    }
    this.#position ??= from;
    this.#removed += removed;
    return connection;
  }
}
