/** Iterators that follow the daemon over restarts: events, and the deliveries of a chat. */
import { Connection, type DaemonRequest, type OnNotification } from "./connection.js";
import type { Choice, LogEvent, Subscribe, TurnEvent } from "./types.js";
/** A request and the connection that it came over. */
interface Received {
    connection: Connection;
    request: DaemonRequest;
}
/** A connection of its own that is opened again whenever it is lost. */
declare abstract class Following<T> implements AsyncIterableIterator<T> {
    #private;
    constructor(path: string, retrySeconds: number);
    /** Returns the next item. The iteration ends after `close`. */
    abstract next(): Promise<IteratorResult<T, undefined>>;
    protected abstract begin(): Promise<Connection>;
    [Symbol.asyncIterator](): this;
    /** Ends the connection when a loop is left. */
    return(): Promise<IteratorResult<T, undefined>>;
    /**
     * Begins to follow. Without this call, the first step of the iteration begins it. Before the
     * first success, the daemon is tried for `retrySeconds`; later without a limit.
     */
    open(): Promise<void>;
    /** Ends the connection. A running iteration ends. */
    close(): void;
    protected connect(method: string, params: unknown, onNotification?: OnNotification): Promise<[Connection, unknown]>;
    /**
     * Returns the next request, over as many connections as it takes; `undefined` after `close`.
     */
    protected nextRequest(): Promise<Received | undefined>;
}
/**
 * The events of the log, oldest first.
 *
 * A batch is confirmed when the program asks for the event behind its last one. After a lost
 * connection the iteration continues, and repeated events are dropped. After a restart of the
 * program, the events of the last batch come again.
 */
export declare class Subscription extends Following<LogEvent> {
    #private;
    /** Use `Client.subscribe`. */
    constructor(path: string, retrySeconds: number, params: Subscribe);
    /**
     * The identity of the log; `undefined` before the begin. It changes when the log was rolled back
     * or replaced. Events may then come again.
     */
    get log(): string | undefined;
    /**
     * The last confirmed event; `undefined` before the begin. A program without a name may keep it
     * and give it as `from`.
     */
    get position(): number | undefined;
    /** The number of events that were removed because of their age before they were read. */
    get removed(): number;
    next(): Promise<IteratorResult<LogEvent, undefined>>;
    protected begin(): Promise<Connection>;
}
/** A message for the chat. Call `confirm` when it is shown or stored. */
export declare class Delivery {
    #private;
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
    /** Made by `Attachment`. */
    constructor(received: Received);
    /**
     * Confirms the message to the daemon. If the connection was lost meanwhile, the daemon delivers
     * the message again, with `repeat`.
     */
    confirm(): void;
}
/** The messages for a chat of a terminal. */
export declare class Attachment extends Following<Delivery> {
    #private;
    /** Use `Client.attach`. */
    constructor(path: string, retrySeconds: number, chat: string, onEvent: ((event: TurnEvent) => void) | undefined);
    next(): Promise<IteratorResult<Delivery, undefined>>;
    protected begin(): Promise<Connection>;
}
export {};
