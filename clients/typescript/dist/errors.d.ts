/** The errors of the client. */
/** The daemon has refused a request, or the client cannot send it. */
export declare class AvocetError extends Error {
    readonly name: string;
    /** One of `ErrorCode`. */
    readonly code: number;
    constructor(code: number, message: string);
    /** `true` if the same request may succeed later. */
    get isTransient(): boolean;
}
/**
 * The daemon cannot be reached, or the connection ended before the answer. The outcome of a request
 * is unknown. A request with a key may be repeated safely.
 */
export declare class ConnectionLost extends AvocetError {
    readonly name: string;
    constructor(message: string);
}
/** The time of `timeoutSeconds` is over. An accepted message stays accepted. */
export declare class TimeoutError extends Error {
    readonly name: string;
}
