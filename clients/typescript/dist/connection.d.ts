/** One connection to the daemon: many requests at a time, with answers matched by their ids. */
import { AvocetError } from "./errors.js";
import { type Hello } from "./types.js";
/** A request from the daemon, which waits for `Connection.confirm`. */
export interface DaemonRequest {
    id: unknown;
    method: string;
    params: unknown;
}
/** Takes what the daemon sends beside answers. */
export interface Handler {
    /** Takes a notification. */
    notify?(method: string, params: unknown): void;
    /** Takes a request at once. Returns `false` to leave it to `Connection.nextRequest`. */
    take?(connection: Connection, request: DaemonRequest): boolean;
}
/** The way to the daemon, the time for attempts to reach it, and the identity of the program. */
export interface Endpoint {
    /** Opens a connection. */
    open: (handler: Handler) => Promise<Connection>;
    /** `true` if the daemon has started the program. It cannot be reached again after its end. */
    isParent: boolean;
    retrySeconds: number;
    hello: Hello;
}
/** The version of the protocol that this library speaks. */
export declare const PROTOCOL = 1;
/** Opens a connection and says hello. */
export declare function connectTo(endpoint: Endpoint, handler?: Handler): Promise<Connection>;
/** Sends `hello` if there is a client. A failure ends the connection. */
export declare function greet(connection: Connection, { hello }: Endpoint): Promise<void>;
/** The bytes in both directions: a socket, or standard input and output. */
export interface ByteStream {
    setEncoding(encoding: "utf8"): unknown;
    on(event: "data", listener: (text: string) => void): unknown;
    on(event: "error", listener: (error: Error) => void): unknown;
    on(event: "end" | "close", listener: () => void): unknown;
    write(text: string): boolean;
    end(done: () => void): unknown;
    destroy(): unknown;
}
/** An open connection. It ends with the daemon, with `close`, or when the daemon refuses it. */
export declare class Connection {
    #private;
    /** Speaks over an open stream. */
    constructor(stream: ByteStream, handler: Handler);
    /** Connects to the daemon that listens on `path`. */
    static open(path: string, handler: Handler): Promise<Connection>;
    /** Replaces the handler. */
    handleWith(handler: Handler): void;
    /** `false` once the connection has ended. */
    get isOpen(): boolean;
    /** The daemon's reason to close the connection for good; `undefined` if there is none. */
    get refusal(): AvocetError | undefined;
    /** Makes a request and returns its result. */
    call(method: string, params: unknown): Promise<unknown>;
    /** Makes a request without which the connection is useless. An error ends it. */
    firstCall(method: string, params: unknown): Promise<unknown>;
    /** Returns the next request of the daemon. */
    nextRequest(): Promise<DaemonRequest>;
    /** Answers a request of the daemon. If the connection has ended, the daemon repeats it. */
    answer(request: DaemonRequest, result: unknown): void;
    /** Answers a request of the daemon with an error. */
    refuse(request: DaemonRequest, code: number, message: string, data?: unknown): void;
    /** Sends a notification. */
    notify(method: string, params: unknown): void;
    /** Ends the connection after all written lines. */
    close(): void;
}
