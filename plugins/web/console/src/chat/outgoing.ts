/**
 * Messages that were written here and that no turn has taken in yet. They survive a reload of the
 * page; the key of each keeps a repetition from becoming a second message.
 */

import { useEffect, useMemo } from "preact/hooks";

import { ApiError, errorText, get, path, post } from "../api.js";
import { newKey } from "../key.js";
import { listen } from "../live.js";
import { Store } from "../store.js";
import type { AcceptedMessage, LogEvent, MessageAttachment, MessageStatus } from "../types.js";

export interface Outgoing {
  /** The `Idempotency-Key`; for a message from another tab, its id. */
  key: string;
  text: string;
  attachments: MessageAttachment[];
  at: number;
  state: "sending" | "sent" | "failed";
  /** Its id, once it was accepted. */
  id?: string;
  error?: string;
}

/** Lets the next page of a session send a message. */
export function queueMessage(session: string, text: string): void {
  const message: Outgoing = { key: newKey(), text, attachments: [], at: Date.now(), state: "sending" };
  sessionStorage.setItem(storageKey(session), JSON.stringify([message]));
}

function storageKey(session: string): string {
  return `avocet.outgoing/${session}`;
}

/** The attempts after a lost answer. The pauses double from this one. */
const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 400;

export class Outbox {
  readonly list: Store<readonly Outgoing[]>;
  readonly #session: string;

  constructor(session: string) {
    this.#session = session;
    this.list = new Store(this.#stored());
  }

  start(): () => void {
    const end = listen(["message"], (event) => this.#onEvent(event));
    for (const message of this.list.get()) {
      if (message.state === "sending") {
        void this.#send(message);
      }
    }
    this.#check();
    return end;
  }

  /** Adds a message and sends it. */
  send(text: string, attachments: MessageAttachment[] = []): void {
    const message: Outgoing = {
      key: newKey(), text, attachments, at: Date.now(), state: "sending",
    };
    this.#set([...this.list.get(), message]);
    void this.#send(message);
  }

  retry(message: Outgoing): void {
    this.#change(message.key, { state: "sending", error: "" });
    void this.#send(message);
  }

  discard(message: Outgoing): void {
    this.#set(this.list.get().filter(({ key }) => key !== message.key));
  }

  /** Removes messages that are part of a turn now. */
  drop(taken: ReadonlySet<string>): void {
    const left = this.list.get().filter(({ id }) => id === undefined || !taken.has(id));
    if (left.length < this.list.get().length) {
      this.#set(left);
    }
  }

  async #send(message: Outgoing): Promise<void> {
    const { key, text, attachments } = message;
    const body = { session: this.#session, text, ...(attachments.length > 0 && { attachments }) };
    let pause = FIRST_PAUSE_MS;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const headers = { "Idempotency-Key": key };
        const { id } = await post<AcceptedMessage>("/v1/messages", body, { headers });
        this.#accepted(key, id);
        return;
      } catch (error) {
        const isTransient = error instanceof ApiError && error.isTransient;
        if (!isTransient || attempt === ATTEMPTS) {
          this.#change(key, { state: "failed", error: errorText(error) });
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, pause));
        pause *= 2;
      }
    }
  }

  #accepted(key: string, id: string): void {
    // The event of the message may have come before this answer.
    this.#set(this.list.get().filter((other) => other.id !== id || other.key === key));
    this.#change(key, { state: "sent", id });
    this.#check();
  }

  #onEvent(event: LogEvent | null): void {
    if (event === null) {
      this.#check();
    } else if (event.session === this.#session && event.message) {
      const { id, text, is_command } = event.message;
      if (event.kind === "message.queued" && !is_command) {
        this.#arrived(id, text, event.at);
      } else if (event.kind === "message.done") {
        this.drop(new Set([id]));
      } else if (event.kind === "message.dead") {
        this.#markDead(id);
      }
    }
  }

  /** Shows a message that another tab or program has written. */
  #arrived(id: string, text: string, at: number): void {
    const list = this.list.get();
    const own = list.find((message) => message.id === id || (message.id === undefined && message.text === text));
    if (own === undefined) {
      this.#set([...list, { key: id, id, text, attachments: [], at, state: "sent" }]);
    } else if (own.id === undefined) {
      this.#change(own.key, { id, state: "sent" });
    }
  }

  #markDead(id: string): void {
    const found = this.list.get().find((message) => message.id === id);
    if (found) {
      this.#change(found.key, { state: "failed", error: "The daemon could not answer this message. The view \"Failed messages\" shows the reason." });
    }
  }

  /** Asks for the outcome of sent messages, because a command never becomes a turn. */
  #check(): void {
    for (const { id, state } of this.list.get()) {
      if (id !== undefined && state === "sent") {
        void get<MessageStatus>(path("messages", id)).then(
          ({ outcome }) => outcome !== null && this.drop(new Set([id])),
          (error) => error instanceof ApiError && error.status === 404 && this.drop(new Set([id])),
        );
      }
    }
  }

  #change(key: string, change: Partial<Outgoing>): void {
    this.#set(this.list.get().map((message) => (message.key === key ? { ...message, ...change } : message)));
  }

  #set(list: readonly Outgoing[]): void {
    try {
      sessionStorage.setItem(storageKey(this.#session), JSON.stringify(list));
    } catch {
      // The storage is full. The messages are sent all the same, but do not survive a reload.
    }
    this.list.set(list);
  }

  #stored(): readonly Outgoing[] {
    return JSON.parse(sessionStorage.getItem(storageKey(this.#session)) ?? "[]") as Outgoing[];
  }
}

export function useOutbox(session: string): Outbox {
  const outbox = useMemo(() => new Outbox(session), [session]);
  useEffect(() => outbox.start(), [outbox]);
  return outbox;
}
