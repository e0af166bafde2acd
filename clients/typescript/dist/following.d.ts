/** Iterators that follow the daemon over restarts, and the one over the events of the log. */
import { type Connection, type DaemonRequest, type Endpoint, type Handler } from "./connection.js";
import { type LogEvent, type Subscribe } from "./types.js";
/** A request and the connection that it came over. */
export interface Received {
    connection: Connection;
    request: DaemonRequest;
}
/** A connection of its own that is opened again whenever it is lost. */
export declare abstract class Following<T> implements AsyncIterableIterator<T> {
    #private;
    protected readonly endpoint: Endpoint;
    constructor(endpoint: Endpoint);
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
    /** The open connection; `undefined` if there is none at present. */
    protected get current(): Connection | undefined;
    /** Opens a connection and makes the first request. */
    protected connect(method: string, params: unknown, handler?: Handler): Promise<[Connection, unknown]>;
    /**
     * Returns the next request of a method, over as many connections as it takes; `undefined` after
     * `close`.
     */
    protected nextRequest(method: string): Promise<Received | undefined>;
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
    constructor(endpoint: Endpoint, params: Subscribe);
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
