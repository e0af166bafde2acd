/** The connection of a program that the daemon has started: its standard input and output. */
import { Duplex, Writable } from "node:stream";
import { Connection } from "./connection.js";
import { ConnectionLost } from "./errors.js";
/** The daemon sets it to the account that the program serves, such as `external:irc`. */
const VARIABLE = "AVOCET_CHANNEL";
/** The only connection of the process, whatever the number of clients. */
let shared;
/**
 * Returns the account for which the daemon has started this program, such as `irc`. `undefined` if
 * the program was started in another way.
 */
export function servedAccount() {
    return process.env[VARIABLE]?.split(":").pop() || undefined;
}
/** Returns the connection. A handler that takes something replaces the last one. */
export function standardConnection(handler) {
    shared ??= new Connection(takeStreams(), {});
    if (!shared.isOpen) {
        const reason = "the daemon has closed the standard input of this program";
        return Promise.reject(new ConnectionLost(reason));
    }
    if (handler.take !== undefined || handler.notify !== undefined) {
        shared.handleWith(handler);
    }
    return Promise.resolve(shared);
}
/** Takes the streams. What the program prints later goes to standard error, which is logged. */
function takeStreams() {
    const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = process.stderr.write.bind(process.stderr);
    const output = new Writable({
        decodeStrings: false,
        write: (chunk, encoding, done) => void write(chunk, encoding, done),
    });
    return Duplex.from({ readable: process.stdin, writable: output });
}
