/** Iterators over the messages for a chat, or for all chats of an account that a program serves. */
import { PROTOCOL } from "./connection.js";
import { Following } from "./following.js";
import { ErrorCode, } from "./types.js";
/** Any code other than those of `fail` and `refuse` says that the outcome is unknown. */
const UNKNOWN = -32000;
/**
 * A message for a chat. Call `confirm` when it is shown or stored. If the connection was lost
 * meanwhile, the answer has no effect, and the daemon delivers the message again, with `repeat`.
 */
export class Delivery {
    /** The number of the delivery. */
    id;
    /** The same for each delivery of this message, and for no other message. */
    nonce;
    /** The turn that wrote the message; `null` if another program sent it. */
    turn;
    /** The chat. */
    chat;
    /** The text: plain on a channel that a program serves, otherwise Markdown. */
    text;
    /** The styles of plain text. Offsets are bytes in UTF-8. */
    styles;
    /** In a group, the key of the message that this one replies to. */
    replyTo;
    /** Files, on a channel that a program serves. */
    attachments;
    /** Buttons. */
    choices;
    /** `true` if the message may have arrived before. */
    repeat;
    #received;
    /** Made by `Attachment` and `Channel`. */
    constructor(received) {
        const chunk = received.request.params;
        this.#received = received;
        this.id = chunk.id;
        this.nonce = chunk.nonce;
        this.turn = chunk.turn;
        this.chat = chunk.chat;
        this.text = chunk.text;
        this.styles = chunk.styles ?? [];
        this.replyTo = chunk.reply_to;
        this.attachments = chunk.attachments ?? [];
        this.choices = chunk.choices ?? [];
        this.repeat = chunk.repeat;
    }
    /** Confirms that the message has arrived. `platformId` is its name on the platform. */
    confirm(platformId) {
        const { connection, request } = this.#received;
        connection.answer(request, platformId === undefined ? {} : { platform_id: platformId });
    }
    /**
     * Reports that the message has not arrived. The daemon delivers it again later, after
     * `retryAfterSeconds` if the platform asks for a pause.
     */
    fail(reason, retryAfterSeconds) {
        const { connection, request } = this.#received;
        const data = retryAfterSeconds === undefined ? undefined : { retry_after: retryAfterSeconds };
        connection.refuse(request, ErrorCode.UNAVAILABLE, reason, data);
    }
    /** Reports that the message may have arrived. The daemon delivers it once more, with `repeat`. */
    unknown(reason) {
        this.#received.connection.refuse(this.#received.request, UNKNOWN, reason);
    }
    /** Reports that the platform has refused the message for good. */
    refuse(reason) {
        this.#received.connection.refuse(this.#received.request, ErrorCode.NOT_ALLOWED, reason);
    }
    /** Reads one of the attachments. Call this before the message is confirmed. */
    async readFile(file = 0) {
        const { connection, request } = this.#received;
        const pieces = [];
        for (let offset = 0;;) {
            const params = { delivery: request.id, file, offset };
            const { data } = (await connection.call("file.get", params));
            if (data === "") {
                return Buffer.concat(pieces);
            }
            const piece = Buffer.from(data, "base64");
            pieces.push(piece);
            offset += piece.length;
        }
    }
}
class Deliveries extends Following {
    #params;
    constructor(endpoint, params) {
        super(endpoint);
        this.#params = params;
    }
    /** Takes the result of `attach`. */
    attached(_result) { }
    async next() {
        const received = await this.nextRequest("deliver");
        return received
            ? { done: false, value: new Delivery(received) }
            : { done: true, value: undefined };
    }
    async begin() {
        const [connection, result] = await this.connect("attach", this.#params, this);
        this.attached(result);
        return connection;
    }
}
/** The messages for a chat. */
export class Attachment extends Deliveries {
    #onEvent;
    /** Use `Client.attach`. */
    constructor(endpoint, chat, onEvent) {
        super(endpoint, { chat });
        this.#onEvent = onEvent;
    }
    notify(method, params) {
        if (method === "event") {
            this.#onEvent?.(params);
        }
    }
}
/** The messages for all chats of an account that this program serves. */
export class Channel extends Deliveries {
    /** The account. */
    account;
    #options;
    #requests;
    #health;
    #cursors = {};
    /** Use `Client.channel`. */
    constructor(endpoint, account, options, requests) {
        const { channel = "external", maxText, capabilities } = options;
        const hello = { ...endpoint.hello, protocol: PROTOCOL, ...(capabilities && { capabilities }) };
        super({ ...endpoint, hello }, { channel, account, ...(maxText !== undefined && { max_text: maxText }) });
        this.account = account;
        this.#options = options;
        this.#requests = requests;
    }
    /** The positions that were published up to the last connection, by scope. */
    get cursors() {
        return this.#cursors;
    }
    /**
     * Brings in a message of a person. It counts as accepted when the promise is fulfilled. A repeated
     * `key` changes nothing. After a transient error, publish the message again. Any other error is
     * final: the message is refused, and the cursor has moved.
     */
    async publish(message) {
        return await this.#requests.publish(message);
    }
    /** Stores a position without a message. It is stored when the promise is fulfilled. */
    async moveCursor(position, scope = "") {
        const { channel = "external" } = this.#options;
        const cursor = { scope, position };
        await this.#requests.moveCursor({ channel, account: this.account, cursor });
    }
    /**
     * Takes back a message that was deleted on the platform: it gets no answer any more. A message that
     * is unknown or answered changes nothing.
     */
    async withdrawMessage(chat, key) {
        await this.#requests.withdrawMessage({ chat, key });
    }
    /** Reports the state of the platform, for `avocet status`. It is sent when it changes. */
    reportHealth(up, reason) {
        const report = { up, ...(!up && reason !== undefined && { reason }) };
        if (JSON.stringify(report) !== JSON.stringify(this.#health)) {
            this.#health = report;
            this.current?.notify("health", report);
        }
    }
    async begin() {
        const connection = await super.begin();
        if (this.#health !== undefined) {
            connection.notify("health", this.#health);
        }
        return connection;
    }
    notify(method, params) {
        if (method === "typing") {
            this.#options.onTyping?.(params.chat);
        }
    }
    /** Answers a request for a piece of a file while the program does other work. */
    take(connection, request) {
        const isFile = request.method === "file.read";
        if (isFile) {
            void this.#answerFile(connection, request);
        }
        return isFile;
    }
    async #answerFile(connection, request) {
        const { reference, offset, length } = request.params;
        const { readFile } = this.#options;
        if (readFile === undefined) {
            connection.refuse(request, ErrorCode.NOT_FOUND, `this program has no file ${reference}`);
            return;
        }
        try {
            const piece = await readFile(reference, offset, length);
            connection.answer(request, { data: Buffer.from(piece).toString("base64") });
        }
        catch (error) {
            const isGone = error.code === "ENOENT";
            // The agent learns that the file cannot be read.
            const code = isGone ? ErrorCode.NOT_FOUND : ErrorCode.UNAVAILABLE;
            connection.refuse(request, code, String(error));
        }
    }
    attached(result) {
        this.#cursors = result.cursors ?? {};
    }
}
