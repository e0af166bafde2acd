/** Iterators that follow the daemon over restarts: events, and the deliveries of a chat. */

import { Backoff } from "./backoff.js";
import { Connection, type DaemonRequest, type OnNotification } from "./connection.js";
import { AvocetError, ConnectionLost } from "./errors.js";
import type {
  Choice,
  DeliveryChunk,
  EventBatch,
  LogEvent,
  Subscribe,
  Subscribed,
  TurnEvent,
} from "./types.js";

/** A request and the connection that it came over. */
interface Received {
  connection: Connection;
  request: DaemonRequest;
}

/** A connection of its own that is opened again whenever it is lost. */
abstract class Following<T> implements AsyncIterableIterator<T> {
  readonly #path: string;
  readonly #retrySeconds: number;
  #connection: Connection | undefined;
  // Kept until a request arrives, so that a daemon that fails again and again is spared.
  #backoff: Backoff | undefined;
  #wasOpen = false;
  #isClosed = false;

  constructor(path: string, retrySeconds: number) {
    this.#path = path;
    this.#retrySeconds = retrySeconds;
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

  protected async connect(
    method: string,
    params: unknown,
    onNotification?: OnNotification,
  ): Promise<[Connection, unknown]> {
    const connection = await Connection.open(this.#path, onNotification);
    try {
      return [connection, await connection.call(method, params)];
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /**
   * Returns the next request, over as many connections as it takes; `undefined` after `close`.
   */
  protected async nextRequest(): Promise<Received | undefined> {
    for (;;) {
      const connection = await this.#connected();
      if (connection === undefined) {
        return undefined;
      }
      try {
        const request = await connection.nextRequest();
        this.#backoff = undefined;
        return { connection, request };
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
    this.#backoff ??= new Backoff(this.#wasOpen ? Infinity : this.#retrySeconds);
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
  constructor(path: string, retrySeconds: number, params: Subscribe) {
    super(path, retrySeconds);
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
      this.#batch.connection.confirm(this.#batch.request);
      this.#batch = undefined;
    }
    const received = await this.nextRequest();
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

/** A message for the chat. Call `confirm` when it is shown or stored. */
export class Delivery {
  /** The number of the delivery. */
  readonly id: string;
  /** The turn that wrote the message; `null` if another program sent it. */
  readonly turn: string | null;
  /** The chat. */
  readonly chat: string;
  /** The text, in Markdown. */
  readonly text: string;
  /** Buttons. */
  readonly choices: Choice[];
  /** `true` if the message may have arrived before. */
  readonly repeat: boolean;
  readonly #received: Received;

  /** Made by `Attachment`. */
  constructor(received: Received) {
    const chunk = received.request.params as DeliveryChunk;
    this.#received = received;
    this.id = chunk.id;
    this.turn = chunk.turn;
    this.chat = chunk.chat;
    this.text = chunk.text;
    this.choices = chunk.choices ?? [];
    this.repeat = chunk.repeat;
  }

  /**
   * Confirms the message to the daemon. If the connection was lost meanwhile, the daemon delivers
   * the message again, with `repeat`.
   */
  confirm(): void {
    this.#received.connection.confirm(this.#received.request);
  }
}

/** The messages for a chat of a terminal. */
export class Attachment extends Following<Delivery> {
  readonly #chat: string;
  readonly #onEvent: ((event: TurnEvent) => void) | undefined;

  /** Use `Client.attach`. */
  constructor(
    path: string,
    retrySeconds: number,
    chat: string,
    onEvent: ((event: TurnEvent) => void) | undefined,
  ) {
    super(path, retrySeconds);
    this.#chat = chat;
    this.#onEvent = onEvent;
  }

  override async next(): Promise<IteratorResult<Delivery, undefined>> {
    for (;;) {
      const received = await this.nextRequest();
      if (!received) {
        return { done: true, value: undefined };
      }
      if (received.request.method === "deliver") {
        return { done: false, value: new Delivery(received) };
      }
    }
  }

  protected override async begin(): Promise<Connection> {
    const onNotification: OnNotification = (method, params) => {
      if (method === "event") {
        // An error of the function must not end the connection.
        queueMicrotask(() => this.#onEvent?.(params as TurnEvent));
      }
    };
    const [connection] = await this.connect("attach", { chat: this.#chat }, onNotification);
    return connection;
  }
}
