/** The connection of a program that the daemon has started: its standard input and output. */
import { Connection, type Handler } from "./connection.js";
/**
 * Returns the account for which the daemon has started this program, such as `irc`. `undefined` if
 * the program was started in another way.
 */
export declare function servedAccount(): string | undefined;
/** Returns the connection. A handler that takes something replaces the last one. */
export declare function standardConnection(handler: Handler): Promise<Connection>;
