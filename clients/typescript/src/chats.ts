/** Iterators over the messages for a chat, or for all chats of an account that a program serves. */

import { type Connection, type DaemonRequest, type Endpoint, type Handler, PROTOCOL } from "./connection.js";
import { Following, type Received } from "./following.js";
import {
  ErrorCode,
  type AskResult,
  type AttachParams,
  type AttachResult,
  type Capability,
  type Choice,
  type DeliveryChunk,
  type FilePiece,
  type HealthReport,
  type MoveCursor,
  type PublishParams,
  type ReadFilePiece,
  type SentFile,
  type StyleRange,
  type TurnEvent,
  type WithdrawMessage,
} from "./types.js";

/** Any code other than those of `fail` and `refuse` says that the outcome is unknown. */
const UNKNOWN = -32000;

/**
 * A message for a chat. Call `confirm` when it is shown or stored. If the connection was lost
 * meanwhile, the answer has no effect, and the daemon delivers the message again, with `repeat`.
 */
export class Delivery {
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
  readonly #received: Received;

  /** Made by `Attachment` and `Channel`. */
  constructor(received: Received) {
    const chunk = received.request.params as DeliveryChunk;
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
  confirm(platformId?: string): void {
    const { connection, request } = this.#received;
    connection.answer(request, platformId === undefined ? {} : { platform_id: platformId });
  }

  /**
   * Reports that the message has not arrived. The daemon delivers it again later, after
   * `retryAfterSeconds` if the platform asks for a pause.
   */
  fail(reason: string, retryAfterSeconds?: number): void {
    const { connection, request } = this.#received;
    const data = retryAfterSeconds === undefined ? undefined : { retry_after: retryAfterSeconds };
    connection.refuse(request, ErrorCode.UNAVAILABLE, reason, data);
  }

  /** Reports that the message may have arrived. The daemon delivers it once more, with `repeat`. */
  unknown(reason: string): void {
    this.#received.connection.refuse(this.#received.request, UNKNOWN, reason);
  }

  /** Reports that the platform has refused the message for good. */
  refuse(reason: string): void {
    this.#received.connection.refuse(this.#received.request, ErrorCode.NOT_ALLOWED, reason);
  }

  /** Reads one of the attachments. Call this before the message is confirmed. */
  async readFile(file = 0): Promise<Uint8Array> {
    const { connection, request } = this.#received;
    const pieces: Buffer[] = [];
    for (let offset = 0; ; ) {
      const params = { delivery: request.id, file, offset };
      const { data } = (await connection.call("file.get", params)) as FilePiece;
      if (data === "") {
        return Buffer.concat(pieces);
      }
      const piece = Buffer.from(data, "base64");
      pieces.push(piece);
      offset += piece.length;
    }
  }
}

abstract class Deliveries extends Following<Delivery> implements Handler {
  readonly #params: AttachParams;

  constructor(endpoint: Endpoint, params: AttachParams) {
    super(endpoint);
    this.#params = params;
  }

  /** Takes a notification. */
  abstract notify(method: string, params: unknown): void;

  /** Takes the result of `attach`. */
  protected attached(_result: AttachResult): void {}

  override async next(): Promise<IteratorResult<Delivery, undefined>> {
    const received = await this.nextRequest("deliver");
    return received
      ? { done: false, value: new Delivery(received) }
      : { done: true, value: undefined };
  }

  protected override async begin(): Promise<Connection> {
    const [connection, result] = await this.connect("attach", this.#params, this);
    this.attached(result as AttachResult);
    return connection;
  }
}

/** The messages for a chat. */
export class Attachment extends Deliveries {
  readonly #onEvent: ((event: TurnEvent) => void) | undefined;

  /** Use `Client.attach`. */
  constructor(endpoint: Endpoint, chat: string, onEvent: ((event: TurnEvent) => void) | undefined) {
    super(endpoint, { chat });
    this.#onEvent = onEvent;
  }

  override notify(method: string, params: unknown): void {
    if (method === "event") {
      this.#onEvent?.(params as TurnEvent);
    }
  }
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
export class Channel extends Deliveries {
  /** The account. */
  readonly account: string;
  readonly #options: ChannelOptions;
  readonly #requests: ChannelRequests;
  #health: HealthReport | undefined;
  #cursors: Record<string, string> = {};

  /** Use `Client.channel`. */
  constructor(
    endpoint: Endpoint,
    account: string,
    options: ChannelOptions,
    requests: ChannelRequests,
  ) {
    const { channel = "external", maxText, capabilities } = options;
    const hello = { ...endpoint.hello, protocol: PROTOCOL, ...(capabilities && { capabilities }) };
    super({ ...endpoint, hello }, { channel, account, ...(maxText !== undefined && { max_text: maxText }) });
    this.account = account;
    this.#options = options;
    this.#requests = requests;
  }

  /** The positions that were published up to the last connection, by scope. */
  get cursors(): Record<string, string> {
    return this.#cursors;
  }

  /**
   * Brings in a message of a person. It counts as accepted when the promise is fulfilled. A repeated
   * `key` changes nothing. After a transient error, publish the message again. Any other error is
   * final: the message is refused, and the cursor has moved.
   */
  async publish(message: PublishParams): Promise<AskResult> {
    return await this.#requests.publish(message);
  }

  /** Stores a position without a message. It is stored when the promise is fulfilled. */
  async moveCursor(position: string, scope = ""): Promise<void> {
    const { channel = "external" } = this.#options;
    const cursor = { scope, position };
    await this.#requests.moveCursor({ channel, account: this.account, cursor });
  }

  /**
   * Takes back a message that was deleted on the platform: it gets no answer any more. A message that
   * is unknown or answered changes nothing.
   */
  async withdrawMessage(chat: string, key: string): Promise<void> {
    await this.#requests.withdrawMessage({ chat, key });
  }

  /** Reports the state of the platform, for `avocet status`. It is sent when it changes. */
  reportHealth(up: boolean, reason?: string): void {
    const report = { up, ...(!up && reason !== undefined && { reason }) };
    if (JSON.stringify(report) !== JSON.stringify(this.#health)) {
      this.#health = report;
      this.current?.notify("health", report);
    }
  }

  protected override async begin(): Promise<Connection> {
    const connection = await super.begin();
    if (this.#health !== undefined) {
      connection.notify("health", this.#health);
    }
    return connection;
  }

  override notify(method: string, params: unknown): void {
    if (method === "typing") {
      this.#options.onTyping?.((params as { chat: string }).chat);
    }
  }

  /** Answers a request for a piece of a file while the program does other work. */
  take(connection: Connection, request: DaemonRequest): boolean {
    const isFile = request.method === "file.read";
    if (isFile) {
      void this.#answerFile(connection, request);
    }
    return isFile;
  }

  async #answerFile(connection: Connection, request: DaemonRequest): Promise<void> {
    const { reference, offset, length } = request.params as ReadFilePiece;
    const { readFile } = this.#options;
    if (readFile === undefined) {
      connection.refuse(request, ErrorCode.NOT_FOUND, `this program has no file ${reference}`);
      return;
    }
    try {
      const piece = await readFile(reference, offset, length);
      connection.answer(request, { data: Buffer.from(piece).toString("base64") });
    } catch (error) {
      const isGone = (error as { code?: unknown }).code === "ENOENT";
      // The agent learns that the file cannot be read.
      const code = isGone ? ErrorCode.NOT_FOUND : ErrorCode.UNAVAILABLE;
      connection.refuse(request, code, String(error));
    }
  }

  protected override attached(result: AttachResult): void {
    this.#cursors = result.cursors ?? {};
  }
}
