/** The client. */
import { Attachment, Channel, type ChannelOptions } from "./chats.js";
import { Subscription } from "./following.js";
import * as types from "./types.js";
/** Returns the socket of a daemon that runs as this user with the default configuration. */
export declare function defaultPath(): string;
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
type CallArguments<M extends keyof types.Methods> = undefined extends types.Methods[M]["params"] ? [params?: types.Methods[M]["params"], options?: CallOptions] : [params: types.Methods[M]["params"], options?: CallOptions];
/**
 * A connection to the daemon that is opened when it is needed and after it was lost.
 *
 * Methods that change nothing, or that have a key, are repeated while the daemon cannot be reached,
 * for `retrySeconds` at most.
 */
export declare class Client {
    #private;
    constructor(options?: ClientOptions);
    constructor(path: string, options?: Omit<ClientOptions, "path">);
    /**
     * Connects to the daemon. Without this call, the first request connects. Throws `ConnectionLost`
     * if no daemon can be reached within `retrySeconds`.
     */
    connect(): Promise<void>;
    /** Ends the connection. Iterators of `subscribe` and `attach` have their own. */
    close(): void;
    /** Calls a method of the socket and returns its result. */
    call<M extends keyof types.Methods>(method: M, ...rest: CallArguments<M>): Promise<types.Methods[M]["result"]>;
    /** Calls a method that `Methods` lacks. */
    callOther(method: string, params?: unknown, options?: CallOptions): Promise<unknown>;
    /**
     * Sends a message to the agent, and waits for the outcome unless `wait` is `false`. The reply
     * goes to the chat of the session as well.
     */
    ask(session: string, text: string, options?: AskOptions & {
        wait?: true;
    }): Promise<types.MessageStatus>;
    ask(session: string, text: string, options: AskOptions & {
        wait: false;
    }): Promise<types.AskResult>;
    /**
     * Sends a message to the agent without waiting for the outcome. This is `ask` with `wait: false`,
     * and calls the socket's method `ask`. For the socket's method `publish`, see `publishInbound`.
     */
    publish(session: string, text: string, options?: AskOptions): Promise<types.AskResult>;
    /**
     * Brings in a message of a person on the program's own platform.
     *
     * This calls the socket's method `publish`, which needs the role `channel` and a chat of
     * `[channels.external]`. A program that serves all chats of the account uses `channel`. The `key`
     * is required, so the request is repeated as in `ask`. Messages with a `cursor` have to be
     * published one after the other, since each one sets the position of the account.
     */
    publishInbound(message: types.PublishParams): Promise<types.AskResult>;
    /**
     * Waits until a message has its outcome, over restarts of the daemon. Throws `ConnectionLost` if
     * the daemon is away for longer than `retrySeconds`.
     */
    wait(message: string, options?: {
        timeoutSeconds?: number;
    }): Promise<types.MessageStatus>;
    /** Delivers a text to a chat as it is. `key` as in `ask`. */
    send(chat: string, text: string, options?: {
        key?: string;
    }): Promise<types.SendResult>;
    /**
     * Asks for an answer by a JSON Schema, outside of the conversation. The request is not repeated,
     * since each one costs tokens.
     */
    askJson(session: string, text: string, schema: unknown): Promise<types.JsonAnswer>;
    /** Follows the events of the log. */
    subscribe(options?: SubscribeOptions): Subscription;
    /**
     * Receives the messages for a chat of a terminal. `onEvent` is called with each event of a
     * running turn, for display.
     */
    attach(chat: string, options?: {
        onEvent?: (event: types.TurnEvent) => void;
    }): Attachment;
    /**
     * Serves all chats of an account, `[channels.external.ACCOUNT]` in the configuration. Default: the
     * account for which the daemon has started the program.
     */
    channel(account?: string | undefined, options?: ChannelOptions): Channel;
    /** Returns the sender, the role and the chats of this program. */
    rights(): Promise<types.Welcome>;
    /** Returns the state of the daemon, its providers, channels and queues. */
    status(): Promise<types.DaemonStatus>;
    /** Returns a page of sessions, the last used first. */
    sessions(page?: types.ListSessions): Promise<types.SessionSummary[]>;
    /** Returns the last turns of a session, oldest first. */
    turns(session: string, page?: Omit<types.ShowSession, "session">): Promise<types.TurnRecord[]>;
    /** Returns a page of events, oldest first. `subscribe` follows new ones. */
    events(page?: types.ListEvents): Promise<types.EventList>;
    /** Returns the programs that follow the events under a name, with their positions. */
    subscribers(): Promise<types.Subscriber[]>;
    /** Forgets the position of a subscriber. */
    removeSubscriber(name: string): Promise<void>;
    /** Returns the timeline of a message. */
    trace(message: string): Promise<types.TraceSpan[]>;
    /** Returns the calls that wait for an approval. */
    approvals(page?: types.ListApprovals): Promise<types.OpenApproval[]>;
    /**
     * Approves or denies a call. After a `ConnectionLost`, read `approvals()` again to see if the
     * decision was taken.
     */
    decide(decision: types.Decide): Promise<void>;
    /** Submits a job. `key` as in `ask`. */
    submitJob(job: types.SubmitJob): Promise<types.SubmittedJob>;
    /** Returns a job and its progress. */
    job(id: string): Promise<types.JobStatus>;
    /** Returns the messages that were refused, unconfirmed or dropped, the newest first. */
    failedMessages(page?: types.ListDeadLetters): Promise<types.DeadLetter[]>;
}
export {};
