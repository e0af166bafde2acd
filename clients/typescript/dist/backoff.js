/** The pauses between attempts to reach the daemon, and limits of time. */
import { TimeoutError } from "./errors.js";
const FIRST_SECONDS = 0.05;
const LONGEST_SECONDS = 5;
/** Pauses that double, from 50 ms to 5 s. */
export class Backoff {
    #next = FIRST_SECONDS;
    #end;
    /** `limitSeconds` is the time from now until the last attempt. */
    constructor(limitSeconds = Infinity) {
        this.#end = performance.now() / 1000 + limitSeconds;
    }
    /** Waits before the next attempt. Throws the error of the last one if the time is over. */
    async pause(error, deadline) {
        const left = this.#end - performance.now() / 1000;
        if (left <= 0) {
            throw error;
        }
        this.#next = Math.min(this.#next, left);
        await sleep(this.#next, deadline);
        this.#next = Math.min(this.#next * 2, LONGEST_SECONDS);
    }
}
async function sleep(seconds, deadline) {
    let timer;
    try {
        const over = new Promise((resolve) => (timer = setTimeout(resolve, seconds * 1000)));
        await (deadline ? deadline.limit(over) : over);
    }
    finally {
        clearTimeout(timer);
    }
}
/** The end of the time for a piece of work. */
export class Deadline {
    #over;
    #timer;
    constructor(seconds) {
        let reject;
        this.#over = new Promise((_, refuse) => (reject = refuse));
        // Without this handler, an end without a waiting promise would be an unhandled rejection.
        this.#over.catch(() => undefined);
        const late = () => reject(new TimeoutError(`no answer within ${seconds} s`));
        this.#timer = setTimeout(late, seconds * 1000);
    }
    /** Returns the result of the work, or throws a `TimeoutError`. */
    limit(work) {
        return Promise.race([work, this.#over]);
    }
    /** Stops the clock. */
    clear() {
        clearTimeout(this.#timer);
    }
}
