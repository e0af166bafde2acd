/** The pauses between attempts to reach the daemon, and limits of time. */
/** Pauses that double, from 50 ms to 5 s. */
export declare class Backoff {
    #private;
    /** `limitSeconds` is the time from now until the last attempt. */
    constructor(limitSeconds?: number);
    /** Waits before the next attempt. Throws the error of the last one if the time is over. */
    pause(error: Error, deadline?: Deadline): Promise<void>;
}
/** The end of the time for a piece of work. */
export declare class Deadline {
    #private;
    constructor(seconds: number);
    /** Returns the result of the work, or throws a `TimeoutError`. */
    limit<T>(work: Promise<T>): Promise<T>;
    /** Stops the clock. */
    clear(): void;
}
