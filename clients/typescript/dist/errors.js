/** The errors of the client. */
import { ErrorCode } from "./types.js";
/** The daemon has refused a request, or the client cannot send it. */
export class AvocetError extends Error {
    name = "AvocetError";
    /** One of `ErrorCode`. */
    code;
    constructor(code, message) {
        super(message);
        this.code = code;
    }
    /** `true` if the same request may succeed later. */
    get isTransient() {
        return this.code === ErrorCode.UNAVAILABLE;
    }
}
/**
 * The daemon cannot be reached, or the connection ended before the answer. The outcome of a request
 * is unknown. A request with a key may be repeated safely.
 */
export class ConnectionLost extends AvocetError {
    name = "ConnectionLost";
    constructor(message) {
        super(ErrorCode.UNAVAILABLE, message);
    }
}
/** The time of `timeoutSeconds` is over. An accepted message stays accepted. */
export class TimeoutError extends Error {
    name = "TimeoutError";
}
