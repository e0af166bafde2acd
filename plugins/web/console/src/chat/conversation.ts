/** A conversation: its turns, the texts outside of them, and the running turn. */

import { useEffect, useMemo } from "preact/hooks";

import { ApiError, get, path } from "../api.js";
import { listen } from "../live.js";
import { Store } from "../store.js";
import { follow } from "../stream.js";
import type { LogEvent, DeliveredText, TurnEvent, TurnRecord } from "../types.js";
import { idNumber, isOpen, merged } from "./items.js";
import { afterEvent, type LiveTurn } from "./liveTurn.js";

const PAGE = 50;
/** The largest page that the daemon gives, used on the way to an old turn. */
const LARGE_PAGE = 500;
/** The turns that an event can touch: the open one, and those that wait behind it. */
const RECENT = 4;
/** Events within this time cause one request together. */
const GATHER_MS = 80;

export interface Snapshot {
  /** Oldest first. */
  turns: readonly TurnRecord[];
  /** Oldest first. */
  sent: readonly DeliveredText[];
  live: LiveTurn | null;
  isLoaded: boolean;
  /** `true` if there are no older turns. */
  isComplete: boolean;
  isLoadingOlder: boolean;
  error: unknown;
}

const EMPTY: Snapshot = {
  turns: [], sent: [], live: null, isLoaded: false, isComplete: false, isLoadingOlder: false, error: undefined,
};

export class Conversation {
  readonly state = new Store<Snapshot>(EMPTY);
  readonly #session: string;
  #end = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #frame = 0;
  #waiting: TurnEvent[] = [];
  #isLoading = false;
  /** The next request: a page after a gap in the events, else the recent turns. */
  #wanted: "nothing" | "recent" | "page" = "nothing";

  constructor(session: string) {
    this.#session = session;
  }

  /** Loads and follows the conversation. Returns a function that stops following. */
  start(): () => void {
    this.#end = new AbortController();
    const endEvents = listen(["message", "turn", "model", "call", "delivery"], (event) => this.#onEvent(event));
    let endStream: (() => void) | null = null;
    const adjust = () => {
      if (!document.hidden) {
        endStream ??= this.#followTurn();
      } else {
        endStream?.();
        endStream = null;
      }
    };
    document.addEventListener("visibilitychange", adjust);
    adjust();
    this.reload();
    return () => {
      document.removeEventListener("visibilitychange", adjust);
      endEvents();
      endStream?.();
      this.#end.abort();
      clearTimeout(this.#timer);
      cancelAnimationFrame(this.#frame);
      this.#timer = undefined;
      this.#frame = 0;
    };
  }

  reload(): void {
    this.#want("page");
  }

  /** Loads older turns until this one is there. */
  async loadTo(turn: string): Promise<void> {
    const isReached = () => {
      const { turns, isComplete, error } = this.state.get();
      const oldest = turns[0];
      return isComplete || error !== undefined || oldest === undefined || idNumber(oldest.id) <= idNumber(turn);
    };
    while (!isReached() && !this.#end.signal.aborted) {
      await this.loadOlder(LARGE_PAGE);
    }
  }

  /** Loads the page before the oldest turn. */
  async loadOlder(page = PAGE): Promise<void> {
    const { turns, sent, isComplete, isLoadingOlder, isLoaded } = this.state.get();
    const oldest = turns[0];
    if (isComplete || isLoadingOlder || !isLoaded) {
      return;
    }
    if (oldest === undefined) {
      this.#set({ isComplete: true });
      return;
    }
    this.#set({ isLoadingOlder: true });
    try {
      const [older, texts] = await Promise.all([
        this.#turns({ turns: page, before: oldest.id }),
        this.#sentBefore(sent[0], page),
      ]);
      this.#merge(older, texts);
      this.#set({ isComplete: older.length === 0, error: undefined });
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#set({ isLoadingOlder: false });
    }
  }

  #onEvent(event: LogEvent | null): void {
    if (event === null) {
      this.#want("page");
    } else if (event.session === this.#session || event.delivery?.chat === this.#session) {
      this.#want("recent");
    }
  }

  #followTurn(): () => void {
    return follow(path("sessions", this.#session, "stream"), {
      // The stream begins with the text so far, so it replaces the earlier state.
      onOpen: () => {
        this.#waiting = [];
        this.#set({ live: null });
      },
      onEvent: (data) => this.#onTurnEvent(JSON.parse(data) as TurnEvent),
    });
  }

  /** Applies events once for each frame, because a fast model sends many in one. */
  #onTurnEvent(event: TurnEvent): void {
    this.#waiting.push(event);
    if (event.type !== "text") {
      this.#want("recent");
    }
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      const events = this.#waiting;
      this.#waiting = [];
      this.#set({ live: events.reduce(afterEvent, this.state.get().live) });
    });
  }

  #want(wanted: "recent" | "page"): void {
    if (this.#wanted !== "page") {
      this.#wanted = wanted;
    }
    if (!this.#isLoading && !this.#end.signal.aborted) {
      const delay = this.state.get().isLoaded ? GATHER_MS : 0;
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        void this.#load();
      }, delay);
    }
  }

  async #load(): Promise<void> {
    const isPage = this.#wanted === "page";
    this.#wanted = "nothing";
    this.#isLoading = true;
    try {
      const [turns, sent] = await Promise.all([
        this.#turns({ turns: isPage ? PAGE : RECENT }),
        this.#sent({ limit: isPage ? PAGE : RECENT }),
      ]);
      if (this.#hasGap(turns)) {
        if (isPage) {
          this.#set({ turns: [], sent: [], isComplete: false });
        } else {
          this.#wanted = "page";
        }
      }
      if (this.#wanted !== "page") {
        this.#merge(turns, sent);
        this.#set({ isLoaded: true, error: undefined });
        this.#dropEndedTurn();
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isLoading = false;
    }
    if (this.#wanted !== "nothing") {
      this.#want(this.#wanted);
    }
  }

  /** `true` if turns are missing between the known ones and the loaded ones. */
  #hasGap(loaded: readonly TurnRecord[]): boolean {
    const known = new Set(this.state.get().turns.map(({ id }) => id));
    return known.size > 0 && !loaded.some(({ id }) => known.has(id));
  }

  #dropEndedTurn(): void {
    const { live, turns } = this.state.get();
    const record = turns.find(({ id }) => id === live?.turn);
    if (record && !isOpen(record)) {
      this.#set({ live: null });
    }
  }

  #merge(turns: readonly TurnRecord[], sent: readonly DeliveredText[]): void {
    const before = this.state.get();
    this.#set({
      turns: merged(before.turns, turns, ({ id }) => id),
      sent: merged(before.sent, sent, ({ delivery }) => delivery),
    });
  }

  #turns(query: { turns: number; before?: string }): Promise<TurnRecord[]> {
    return this.#list<TurnRecord>(path("sessions", this.#session), query);
  }

  #sent(query: { limit: number; before?: string }): Promise<DeliveredText[]> {
    return this.#list<DeliveredText>(path("sessions", this.#session, "sent"), query);
  }

  async #sentBefore(oldest: DeliveredText | undefined, page: number): Promise<DeliveredText[]> {
    return oldest === undefined ? [] : this.#sent({ limit: page, before: oldest.delivery });
  }

  /** A chat without messages does not exist yet, and counts as empty. */
  async #list<Row>(from: string, query: Record<string, string | number>): Promise<Row[]> {
    try {
      return await get<Row[]>(from, query, this.#end.signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) {
        return [];
      }
      throw error;
    }
  }

  #fail(error: unknown): void {
    if (!this.#end.signal.aborted) {
      this.#set({ error });
    }
  }

  #set(change: Partial<Snapshot>): void {
    this.state.set({ ...this.state.get(), ...change });
  }
}

/** Follows a conversation while the component is shown. */
export function useConversation(session: string): Conversation {
  const conversation = useMemo(() => new Conversation(session), [session]);
  useEffect(() => conversation.start(), [conversation]);
  return conversation;
}
