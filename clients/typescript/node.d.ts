// The parts of Node.js that the library uses. With them, the sources compile without @types/node, and the
// built types name nothing of Node.js.

declare module "node:crypto" {
  export function randomUUID(): string;
}

declare module "node:net" {
  import type { Duplex } from "node:stream";

  /** An open socket. */
  export interface Socket extends Duplex {
    once(event: "connect", listener: () => void): this;
    once(event: "error", listener: (error: NodeJS.ErrnoException) => void): this;
    off(event: "error", listener: (error: NodeJS.ErrnoException) => void): this;
  }

  export function connect(options: { path: string }): Socket;
}

declare module "node:os" {
  export function homedir(): string;
}

declare module "node:path" {
  export function join(...parts: string[]): string;
}

declare module "node:stream" {
  export class Writable {
    constructor(options: {
      decodeStrings: boolean;
      write: (chunk: string, encoding: string, done: (error?: Error | null) => void) => void;
    });
  }

  export class Duplex {
    static from(parts: { readable: NodeJS.ReadStream; writable: Writable }): Duplex;
    setEncoding(encoding: "utf8"): this;
    on(event: "data", listener: (text: string) => void): this;
    on(event: "error", listener: (error: Error) => void): this;
    on(event: "end" | "close", listener: () => void): this;
    write(text: string): boolean;
    end(done: () => void): this;
    destroy(): this;
  }
}

declare namespace NodeJS {
  interface ErrnoException extends Error {
    code?: string;
  }

  interface ReadStream {
    readonly fd: number;
  }

  interface WriteStream {
    write(chunk: string, encoding: string, done: (error?: Error | null) => void): boolean;
  }

  interface Timeout {
    unref(): this;
  }
}

declare const process: {
  readonly env: Record<string, string | undefined>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
};

declare class Buffer extends Uint8Array {
  static byteLength(text: string): number;
  static concat(pieces: readonly Uint8Array[]): Buffer;
  static from(text: string, encoding: "base64"): Buffer;
  static from(bytes: Uint8Array): Buffer;
  toString(encoding?: "base64"): string;
}

declare function setTimeout(work: () => void, milliseconds: number): NodeJS.Timeout;
declare function clearTimeout(timer: NodeJS.Timeout | undefined): void;
declare function queueMicrotask(work: () => void): void;
declare const performance: { now(): number };
