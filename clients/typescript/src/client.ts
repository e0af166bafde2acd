/** The client. */

import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";

import { Backoff, Deadline } from "./backoff.js";
import { Attachment, Channel, type ChannelOptions } from "./chats.js";
import { Connection, type Endpoint, greet, PROTOCOL } from "./connection.js";
import { AvocetError, ConnectionLost } from "./errors.js";
import { Subscription } from "./following.js";
import { servedAccount, standardConnection } from "./stdio.js";
import * as types from "./types.js";

const RETRY_SECONDS = 10;

/** Returns the socket of a daemon that runs as this user with the default configuration. */
export function defaultPath(): string {
  const state = process.env["XDG_STATE_HOME"] || join(homedir(), ".local/state");
  return join(state, "avocet/run/avocet.sock");
}

/** The options of a client. */
export interface ClientOptions {
  /**
   * The socket. Default: `defaultPath()`. A program that the daemon has started uses its standard
   * input and output. The daemon then knows its rights, and `client` and `token` have no effect.
   */
  path?: string;
  /**
   * The name of a table `[gateway.clients.NAME]` whose rights the program takes. The daemon's own
   * user needs none.
   */
  client?: string;
  /** The token of the client. */
  token?: string;
  /** The time for which a request is repeated while the daemon cannot be reached. Default: 10. */
  retrySeconds?: number;
}

/** The options of `ask` and `publish`. */
export interface AskOptions {
  /**
   * Makes a repeated message the same message. Default: a random key, so that a request that is
   * repeated after a lost connection is answered once.
   */
  key?: string;
  /** Throws a `TimeoutError` after this time. */
  timeoutSeconds?: number;
}

/** The options of `subscribe`. */
export interface SubscribeOptions {
  /** The daemon keeps the position under this name. A second subscription replaces the first. */
  name?: string;
  /** The last event that the program has; 0 for all events. Default: the newest one. */
  from?: number;
  /** Only of this session. */
  session?: string;
  /** Only of these kinds: `message.queued`, or `message` for all kinds of messages. */
  kinds?: string[];
}

/** The options of `call`. */
export interface CallOptions {
  /** Repeats the request after a lost connection. Only for requests that may run twice. */
  repeat?: boolean;
}

/** The parameters of a method, which may be left out if the daemon needs none, and the options. */
type CallArguments<M extends keyof types.Methods> = undefined extends types.Methods[M]["params"]
  ? [params?: types.Methods[M]["params"], options?: CallOptions]
  : [params: types.Methods[M]["params"], options?: CallOptions];

/**
 * A connection to the daemon that is opened when it is needed and after it was lost.
 *
 * Methods that change nothing, or that have a key, are repeated while the daemon cannot be reached,
 * for `retrySeconds` at most.
 */
export class Client {
  readonly #endpoint: Endpoint;
  #connection: Promise<Connection> | undefined;
  #opened: Connection | undefined;
  #isClosed = false;

  constructor(options?: ClientOptions);
  constructor(path: string, options?: Omit<ClientOptions, "path">);
  constructor(first: string | ClientOptions = {}, more: Omit<ClientOptions, "path"> = {}) {
    const options: ClientOptions = typeof first === "string" ? { ...more, path: first } : first;
    const { path = defaultPath(), retrySeconds = RETRY_SECONDS, client, token } = options;
    const hello = { ...(client !== undefined && { client }), ...(token !== undefined && { token }) };
    this.#endpoint =
      servedAccount() === undefined
        ? { open: (handler) => Connection.open(path, handler), isParent: false, retrySeconds, hello }
        : { open: standardConnection, isParent: true, retrySeconds, hello: { protocol: PROTOCOL } };
  }

  /**
   * Connects to the daemon. Without this call, the first request connects. Throws `ConnectionLost`
   * if no daemon can be reached within `retrySeconds`.
   */
  async connect(): Promise<void> {
    await this.#call("ping", undefined, { repeat: true });
  }

  /** Ends the connection. Iterators of `subscribe` and `attach` have their own. */
  close(): void {
    this.#isClosed = true;
    this.#opened?.close();
  }

  /** Calls a method of the socket and returns its result. */
  async call<M extends keyof types.Methods>(
    method: M,
    ...rest: CallArguments<M>
  ): Promise<types.Methods[M]["result"]> {
    const [params, options] = rest;
    return (await this.#call(method, params, options)) as types.Methods[M]["result"];
  }

  /** Calls a method that `Methods` lacks. */
  async callOther(method: string, params?: unknown, options?: CallOptions): Promise<unknown> {
    return await this.#call(method, params, options);
  }

  async #call(
    method: string,
    params: unknown,
    { repeat = false }: CallOptions = {},
    deadline?: Deadline,
  ): Promise<unknown> {
    let backoff: Backoff | undefined;
    for (;;) {
      try {
        const answer = this.#connected().then((connection) => connection.call(method, params));
        return await (deadline ? deadline.limit(answer) : answer);
      } catch (error) {
        if (!(repeat && error instanceof AvocetError && error.isTransient)) {
          throw error;
        }
        backoff ??= new Backoff(this.#endpoint.retrySeconds);
        await backoff.pause(error, deadline);
      }
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#isClosed) {
      throw new Error("the client is closed; make a new one");
    }
    const opening = (this.#connection ??= this.#open());
    try {
      const connection = await opening;
      if (connection.isOpen) {
        return connection;
      }
    } catch (error) {
      this.#forget(opening);
      throw error;
    }
    this.#forget(opening);
    return await this.#connected();
  }

  async #open(): Promise<Connection> {
    const connection = await this.#endpoint.open({});
    // Stored before `hello`, so that `close` ends a wait for its answer.
    this.#opened = connection;
    if (this.#isClosed) {
      connection.close();
    }
    await greet(connection, this.#endpoint);
    return connection;
  }

  /** Makes the next request open a connection, unless another one has begun to do so. */
  #forget(opening: Promise<Connection>): void {
    if (this.#connection === opening) {
      this.#connection = undefined;
    }
  }

  /**
   * Sends a message to the agent, and waits for the outcome unless `wait` is `false`. The reply
   * goes to the chat of the session as well.
   */
  ask(session: string, text: string, options?: AskOptions & { wait?: true }): Promise<types.MessageStatus>;
  ask(session: string, text: string, options: AskOptions & { wait: false }): Promise<types.AskResult>;
  async ask(
    session: string,
    text: string,
    options: AskOptions & { wait?: boolean } = {},
  ): Promise<types.MessageStatus | types.AskResult> {
    const params = { session, text, key: options.key ?? randomUUID() };
    return await withDeadline(options.timeoutSeconds, async (deadline) => {
      const answer = await this.#call("ask", params, { repeat: true }, deadline);
      const asked = answer as types.AskResult;
      return options.wait === false ? asked : await this.#wait(asked.message, deadline);
    });
  }

  /**
   * Sends a message to the agent without waiting for the outcome. This is `ask` with `wait: false`,
   * and calls the socket's method `ask`. For the socket's method `publish`, see `publishInbound`.
   */
  async publish(session: string, text: string, options: AskOptions = {}): Promise<types.AskResult> {
    return await this.ask(session, text, { ...options, wait: false });
  }

  /**
   * Brings in a message of a person on the program's own platform.
   *
   * This calls the socket's method `publish`, which needs the role `channel` and a chat of
   * `[channels.external]`. A program that serves all chats of the account uses `channel`. The `key`
   * is required, so the request is repeated as in `ask`. Messages with a `cursor` have to be
   * published one after the other, since each one sets the position of the account.
   */
  async publishInbound(message: types.PublishParams): Promise<types.AskResult> {
    return await this.call("publish", message, { repeat: true });
  }

  /**
   * Waits until a message has its outcome, over restarts of the daemon. Throws `ConnectionLost` if
   * the daemon is away for longer than `retrySeconds`.
   */
  async wait(message: string, options: { timeoutSeconds?: number } = {}): Promise<types.MessageStatus> {
    return await withDeadline(options.timeoutSeconds, (deadline) => this.#wait(message, deadline));
  }

  async #wait(message: string, deadline?: Deadline): Promise<types.MessageStatus> {
    let backoff: Backoff | undefined;
    for (;;) {
      await this.#call("ping", undefined, { repeat: true }, deadline);
      try {
        return (await this.#call("wait", { message }, {}, deadline)) as types.MessageStatus;
      } catch (error) {
        if (!(error instanceof AvocetError && error.isTransient)) {
          throw error;
        }
        // After a lost connection, the first request of the loop waits for the next daemon.
        if (!(error instanceof ConnectionLost)) {
          backoff ??= new Backoff(this.#endpoint.retrySeconds);
          await backoff.pause(error, deadline);
        }
      }
    }
  }

  /** Delivers a text to a chat as it is. `key` as in `ask`. */
  async send(chat: string, text: string, options: { key?: string } = {}): Promise<types.SendResult> {
    return await this.call("send", { chat, text, key: options.key ?? randomUUID() }, { repeat: true });
  }

  /**
   * Asks for an answer by a JSON Schema, outside of the conversation. The request is not repeated,
   * since each one costs tokens.
   */
  async askJson(session: string, text: string, schema: unknown): Promise<types.JsonAnswer> {
    return await this.call("ask.json", { session, text, schema });
  }

  /** Follows the events of the log. */
  subscribe(options: SubscribeOptions = {}): Subscription {
    return new Subscription(this.#endpoint, options);
  }

  /**
   * Receives the messages for a chat of a terminal. `onEvent` is called with each event of a
   * running turn, for display.
   */
  attach(chat: string, options: { onEvent?: (event: types.TurnEvent) => void } = {}): Attachment {
    return new Attachment(this.#endpoint, chat, options.onEvent);
  }

  /**
   * Serves all chats of an account, `[channels.external.ACCOUNT]` in the configuration. Default: the
   * account for which the daemon has started the program.
   */
  channel(account = servedAccount(), options: ChannelOptions = {}): Channel {
    const own = servedAccount() ?? account;
    if (account === undefined || account !== own) {
      const message =
        account === undefined
          ? "channel: name the account to serve"
          : `the daemon has started this program for the account ${own}, not for ${account}`;
      throw new AvocetError(types.ErrorCode.PARAMS, message);
    }
    return new Channel(this.#endpoint, account, options, {
      publish: (message) => this.call("publish", message, { repeat: true }),
      moveCursor: async (cursor) => void (await this.call("cursor.move", cursor, { repeat: true })),
      withdrawMessage: async (message) =>
        void (await this.call("message.withdraw", message, { repeat: true })),
    });
  }

  /** Returns the sender, the role and the chats of this program. */
  async rights(): Promise<types.Welcome> {
    return await this.call("hello", this.#endpoint.hello, { repeat: true });
  }

  /** Returns the state of the daemon, its providers, channels and queues. */
  async status(): Promise<types.DaemonStatus> {
    return await this.call("status", undefined, { repeat: true });
  }

  /** Returns a page of sessions, the last used first. */
  async sessions(page: types.ListSessions = {}): Promise<types.SessionSummary[]> {
    return await this.call("sessions.list", page, { repeat: true });
  }

  /** Returns the last turns of a session, oldest first. */
  async turns(
    session: string,
    page: Omit<types.ShowSession, "session"> = {},
  ): Promise<types.TurnRecord[]> {
    return await this.call("sessions.show", { session, ...page }, { repeat: true });
  }

  /** Returns a page of events, oldest first. `subscribe` follows new ones. */
  async events(page: types.ListEvents = {}): Promise<types.EventList> {
    return await this.call("events.list", page, { repeat: true });
  }

  /** Returns the programs that follow the events under a name, with their positions. */
  async subscribers(): Promise<types.Subscriber[]> {
    return await this.call("subscriber.list", undefined, { repeat: true });
  }

  /** Forgets the position of a subscriber. */
  async removeSubscriber(name: string): Promise<void> {
    await this.call("subscriber.remove", { name });
  }

  /** Returns the timeline of a message. */
  async trace(message: string): Promise<types.TraceSpan[]> {
    return await this.call("trace", { message }, { repeat: true });
  }

  /** Returns the calls that wait for an approval. */
  async approvals(page: types.ListApprovals = {}): Promise<types.OpenApproval[]> {
    return await this.call("approval.list", page, { repeat: true });
  }

  /**
   * Approves or denies a call. After a `ConnectionLost`, read `approvals()` again to see if the
   * decision was taken.
   */
  async decide(decision: types.Decide): Promise<void> {
    await this.call("approval.decide", decision);
  }

  /** Submits a job. `key` as in `ask`. */
  async submitJob(job: types.SubmitJob): Promise<types.SubmittedJob> {
    return await this.call("job.submit", { key: randomUUID(), ...job }, { repeat: true });
  }

  /** Returns a job and its progress. */
  async job(id: string): Promise<types.JobStatus> {
    return await this.call("job.show", { id }, { repeat: true });
  }

  /** Returns the messages that were refused, unconfirmed or dropped, the newest first. */
  async failedMessages(page: types.ListDeadLetters = {}): Promise<types.DeadLetter[]> {
    return await this.call("dead.list", page, { repeat: true });
  }
}

/** Runs some work with a limit of time, if there is one. */
async function withDeadline<T>(
  seconds: number | undefined,
  work: (deadline?: Deadline) => Promise<T>,
): Promise<T> {
  if (seconds === undefined) {
    return await work();
  }
  const deadline = new Deadline(seconds);
  try {
    return await work(deadline);
  } finally {
    deadline.clear();
  }
}
