/** One connection to the daemon: many requests at a time, with answers matched by their ids. */

import { connect } from "node:net";

import { AvocetError, ConnectionLost } from "./errors.js";
import { ErrorCode, type Hello } from "./types.js";

/** The longest request, in bytes without the end of its line. */
const MAX_LINE_BYTES = 1024 * 1024;
/** A surrogate without its partner, as JSON.stringify writes it. The daemon accepts Unicode only. */
const LONE_SURROGATE = /(^|[^\\])(\\\\)*\\ud[89a-f][0-9a-f]{2}/;

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
export const PROTOCOL = 1;

/** Opens a connection and says hello. */
export async function connectTo(endpoint: Endpoint, handler: Handler = {}): Promise<Connection> {
  const connection = await endpoint.open(handler);
  await greet(connection, endpoint);
  return connection;
}

/** Sends `hello` if there is a client. A failure ends the connection. */
export async function greet(connection: Connection, { hello }: Endpoint): Promise<void> {
  if (Object.keys(hello).length > 0) {
    await connection.firstCall("hello", hello);
  }
}

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

interface Waiting<T> {
  resolve: (value: T) => void;
  reject: (error: Error) => void;
}

interface RpcMessage {
  id?: unknown;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string };
}

/** An open connection. It ends with the daemon, with `close`, or when the daemon refuses it. */
export class Connection {
  readonly #stream: ByteStream;
  #handler: Handler;
  readonly #open = new Map<unknown, Waiting<unknown>>();
  readonly #requests: DaemonRequest[] = [];
  readonly #takers: Waiting<DaemonRequest>[] = [];
  #number = 0;
  #rest = "";
  #ended: AvocetError | undefined;

  /** Speaks over an open stream. */
  constructor(stream: ByteStream, handler: Handler) {
    this.#stream = stream;
    this.#handler = handler;
    const lost = (reason: string) =>
      this.#end(new ConnectionLost(`the connection to the daemon was lost: ${reason}`));
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => this.#read(text));
    stream.on("error", (error) => lost(error.message));
    stream.on("end", () => lost("the daemon has closed it"));
    stream.on("close", () => lost("the daemon has closed it"));
  }

  /** Connects to the daemon that listens on `path`. */
  static open(path: string, handler: Handler): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ path });
      const failed = (error: NodeJS.ErrnoException) => reject(openError(path, error));
      socket.once("error", failed);
      socket.once("connect", () => {
        socket.off("error", failed);
        resolve(new Connection(socket, handler));
      });
    });
  }

  /** Replaces the handler. */
  handleWith(handler: Handler): void {
    this.#handler = handler;
  }

  /** `false` once the connection has ended. */
  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  /** The daemon's reason to close the connection for good; `undefined` if there is none. */
  get refusal(): AvocetError | undefined {
    return this.#ended?.isTransient ? undefined : this.#ended;
  }

  /** Makes a request and returns its result. */
  async call(method: string, params: unknown): Promise<unknown> {
    const number = ++this.#number;
    const line = requestLine(number, method, params);
    if (this.#ended !== undefined) {
      throw this.#ended;
    }
    return await new Promise((resolve, reject) => {
      this.#open.set(number, { resolve, reject });
      this.#stream.write(line);
    });
  }

  /** Makes a request without which the connection is useless. An error ends it. */
  async firstCall(method: string, params: unknown): Promise<unknown> {
    try {
      return await this.call(method, params);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Returns the next request of the daemon. */
  nextRequest(): Promise<DaemonRequest> {
    const request = this.#requests.shift();
    if (request !== undefined) {
      return Promise.resolve(request);
    }
    if (this.#ended !== undefined) {
      return Promise.reject(this.#ended);
    }
    return new Promise((resolve, reject) => this.#takers.push({ resolve, reject }));
  }

  /** Answers a request of the daemon. If the connection has ended, the daemon repeats it. */
  answer(request: DaemonRequest, result: unknown): void {
    this.#respond({ jsonrpc: "2.0", id: request.id, result });
  }

  /** Answers a request of the daemon with an error. */
  refuse(request: DaemonRequest, code: number, message: string, data?: unknown): void {
    const error = { code, message, ...(data !== undefined && { data }) };
    this.#respond({ jsonrpc: "2.0", id: request.id, error });
  }

  /** Sends a notification. */
  notify(method: string, params: unknown): void {
    this.#respond({ jsonrpc: "2.0", method, params });
  }

  #respond(response: object): void {
    if (this.isOpen) {
      this.#stream.write(`${JSON.stringify(response)}\n`);
    }
  }

  /** Ends the connection after all written lines. */
  close(): void {
    this.#end(new ConnectionLost("the connection is closed"));
  }

  #read(text: string): void {
    const lines = text.split("\n");
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop() ?? "";
    try {
      for (const line of lines) {
        this.#take(JSON.parse(line) as RpcMessage);
      }
    } catch (error) {
      this.#end(new ConnectionLost(`the daemon has sent a line that is not JSON: ${String(error)}`));
    }
  }

  #take(message: RpcMessage): void {
    const { id = null, method, params } = message;
    if (method !== undefined && id !== null) {
      const request = { id, method, params };
      if (!this.#handler.take?.(this, request)) {
        this.#deliver(request);
      }
    } else if (method !== undefined) {
      // An error of the program's own function must not end the connection.
      queueMicrotask(() => this.#handler.notify?.(method, params));
    } else if (id === null) {
      // A refusal of the connection itself answers all requests.
      const error = errorOf(message);
      this.#end(error.isTransient ? new ConnectionLost(error.message) : error);
    } else {
      const waiting = this.#open.get(id);
      this.#open.delete(id);
      if (message.error === undefined) {
        waiting?.resolve(message.result);
      } else {
        waiting?.reject(errorOf(message));
      }
    }
  }

  #deliver(request: DaemonRequest): void {
    const taker = this.#takers.shift();
    if (taker === undefined) {
      this.#requests.push(request);
    } else {
      taker.resolve(request);
    }
  }

  /** Ends all waits with a reason. Later calls have no effect. */
  #end(reason: AvocetError): void {
    if (this.#ended !== undefined) {
      return;
    }
    this.#ended = reason;
    for (const waiting of [...this.#open.values(), ...this.#takers]) {
      waiting.reject(reason);
    }
    this.#open.clear();
    this.#takers.length = 0;
    this.#stream.end(() => this.#stream.destroy());
  }
}

function openError(path: string, error: NodeJS.ErrnoException): AvocetError {
  if (error.code === "EACCES" || error.code === "EPERM") {
    const message = `cannot connect to ${path}: ${error.message}; run as the user of the daemon`;
    return new AvocetError(ErrorCode.NOT_ALLOWED, message);
  }
  const fix = "start the daemon with `avocet run`";
  return new ConnectionLost(`cannot connect to ${path}: ${error.message}; ${fix}`);
}

/** Returns a request as a line. */
function requestLine(number: number, method: string, params: unknown): string {
  const line = JSON.stringify({ jsonrpc: "2.0", id: number, method, params });
  if (LONE_SURROGATE.test(line)) {
    const message = `${method}: a text contains half a surrogate pair; send valid Unicode`;
    throw new AvocetError(ErrorCode.PARAMS, message);
  }
  const bytes = Buffer.byteLength(line);
  if (bytes > MAX_LINE_BYTES) {
    throw new AvocetError(
      ErrorCode.REQUEST,
      `${method}: the request is ${bytes} bytes long; at most ${MAX_LINE_BYTES} are accepted. ` +
        "Send large texts as files",
    );
  }
  return `${line}\n`;
}

function errorOf(message: RpcMessage): AvocetError {
  const unreadable = "the daemon has sent an error that cannot be read";
  return new AvocetError(
    message.error?.code ?? ErrorCode.REQUEST,
    message.error?.message ?? unreadable,
  );
}
