/** Iterators over the messages for a chat, or for all chats of an account that a program serves. */
import { type Connection, type DaemonRequest, type Endpoint, type Handler } from "./connection.js";
import { Following, type Received } from "./following.js";
import { type AskResult, type AttachParams, type AttachResult, type Capability, type Choice, type MoveCursor, type PublishParams, type SentFile, type StyleRange, type TurnEvent, type WithdrawMessage } from "./types.js";
/**
 * A message for a chat. Call `confirm` when it is shown or stored. If the connection was lost
 * meanwhile, the answer has no effect, and the daemon delivers the message again, with `repeat`.
 */
export declare class Delivery {
    #private;
    /** The number of the delivery. */
    readonly id: string;
    /** The same for each delivery of this message, and for no other message. */
    readonly nonce: string;
    /** The turn that wrote the message; `null` if another program sent it. */
    readonly turn: string | null;
    /** The chat. */
    readonly chat: string;
    /** The text: plain on a channel that a program serves, otherwise Markdown. */
    readonly text: string;
    /** The styles of plain text. Offsets are bytes in UTF-8. */
    readonly styles: StyleRange[];
    /** In a group, the key of the message that this one replies to. */
    readonly replyTo: string | undefined;
    /** Files, on a channel that a program serves. */
    readonly attachments: SentFile[];
    /** Buttons. */
    readonly choices: Choice[];
    /** `true` if the message may have arrived before. */
    readonly repeat: boolean;
    /** Made by `Attachment` and `Channel`. */
    constructor(received: Received);
    /** Confirms that the message has arrived. `platformId` is its name on the platform. */
    confirm(platformId?: string): void;
    /**
     * Reports that the message has not arrived. The daemon delivers it again later, after
     * `retryAfterSeconds` if the platform asks for a pause.
     */
    fail(reason: string, retryAfterSeconds?: number): void;
    /** Reports that the message may have arrived. The daemon delivers it once more, with `repeat`. */
    unknown(reason: string): void;
    /** Reports that the platform has refused the message for good. */
    refuse(reason: string): void;
    /** Reads one of the attachments. Call this before the message is confirmed. */
    readFile(file?: number): Promise<Uint8Array>;
}
declare abstract class Deliveries extends Following<Delivery> implements Handler {
    #private;
    constructor(endpoint: Endpoint, params: AttachParams);
    /** Takes a notification. */
    abstract notify(method: string, params: unknown): void;
    /** Takes the result of `attach`. */
    protected attached(_result: AttachResult): void;
    next(): Promise<IteratorResult<Delivery, undefined>>;
    protected begin(): Promise<Connection>;
}
/** The messages for a chat. */
export declare class Attachment extends Deliveries {
    #private;
    /** Use `Client.attach`. */
    constructor(endpoint: Endpoint, chat: string, onEvent: ((event: TurnEvent) => void) | undefined);
    notify(method: string, params: unknown): void;
}
/** The options of `Client.channel`. */
export interface ChannelOptions {
    /** The channel. Default: `external`. */
    channel?: string;
    /** Characters of the longest message of the platform. */
    maxText?: number;
    /**
     * The abilities of the program: without `choices` buttons are lines of the text, and without
     * `files` the files are. Default: all abilities.
     */
    capabilities?: Capability[];
    /** Called with a chat while the agent works on an answer for it. */
    onTyping?: (chat: string) => void;
    /**
     * Returns a piece of a published file: at most `length` bytes, and none at the end. Throws an
     * error with the code `ENOENT` if there is no such file.
     */
    readFile?: (reference: string, offset: number, length: number) => Promise<Uint8Array>;
}
/** The requests of a channel. */
interface ChannelRequests {
    publish: (message: PublishParams) => Promise<AskResult>;
    moveCursor: (cursor: MoveCursor) => Promise<void>;
    withdrawMessage: (message: WithdrawMessage) => Promise<void>;
}
/** The messages for all chats of an account that this program serves. */
export declare class Channel extends Deliveries {
    #private;
    /** The account. */
    readonly account: string;
    /** Use `Client.channel`. */
    constructor(endpoint: Endpoint, account: string, options: ChannelOptions, requests: ChannelRequests);
    /** The positions that were published up to the last connection, by scope. */
    get cursors(): Record<string, string>;
    /**
     * Brings in a message of a person. It counts as accepted when the promise is fulfilled. A repeated
     * `key` changes nothing. After a transient error, publish the message again. Any other error is
     * final: the message is refused, and the cursor has moved.
     */
    publish(message: PublishParams): Promise<AskResult>;
    /** Stores a position without a message. It is stored when the promise is fulfilled. */
    moveCursor(position: string, scope?: string): Promise<void>;
    /**
     * Takes back a message that was deleted on the platform: it gets no answer any more. A message that
     * is unknown or answered changes nothing.
     */
    withdrawMessage(chat: string, key: string): Promise<void>;
    /** Reports the state of the platform, for `avocet status`. It is sent when it changes. */
    reportHealth(up: boolean, reason?: string): void;
    protected begin(): Promise<Connection>;
    notify(method: string, params: unknown): void;
    /** Answers a request for a piece of a file while the program does other work. */
    take(connection: Connection, request: DaemonRequest): boolean;
    protected attached(result: AttachResult): void;
}
export {};
