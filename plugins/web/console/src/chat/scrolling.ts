/** The place of the reader in a conversation. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { showHit } from "./hit.js";
import { afterNewRows, around, NEWEST, type Range } from "./window.js";

/** The element that scrolls. Its first child has the rows. */
export type Box = { current: HTMLDivElement | null };

/** Within this distance from the end in pixels, the view follows new text. */
const NEAR_END = 48;

/** Keeps the range in place when rows are added. */
export function useRange(rows: readonly { key: string }[]): [Range, (range: Range) => void] {
  const [range, setRange] = useState(NEWEST);
  const last = useRef<string | undefined>(undefined);
  const known = last.current === undefined ? -1 : rows.findLastIndex(({ key }) => key === last.current);
  const added = known === -1 ? 0 : rows.length - 1 - known;
  const present = added > 0 ? afterNewRows(range, added) : range;
  useEffect(() => {
    last.current = rows.at(-1)?.key;
    if (added > 0) {
      setRange(present);
    }
  }, [rows]);
  return [present, setRange];
}

interface FollowedEnd {
  /** Changes without a new rendering. */
  isFollowing: { current: boolean };
  isAtEnd: boolean;
  toEnd: () => void;
  leaveEnd: () => void;
}

/** Stays at the end while content grows, unless the reader has scrolled up. */
export function useFollowEnd(box: Box): FollowedEnd {
  const isFollowing = useRef(true);
  const [isAtEnd, setAtEnd] = useState(true);
  const toEnd = () => {
    isFollowing.current = true;
    setAtEnd(true);
    box.current!.scrollTop = box.current!.scrollHeight;
  };
  const leaveEnd = () => {
    isFollowing.current = false;
    setAtEnd(false);
  };
  useEffect(() => {
    const element = box.current!;
    let top = element.scrollTop;
    const onScroll = () => {
      const distance = element.scrollHeight - element.scrollTop - element.clientHeight;
      // Content that grows moves the end away without a movement of the reader.
      const hasMovedUp = element.scrollTop < top - 1;
      top = element.scrollTop;
      isFollowing.current = distance < NEAR_END || (isFollowing.current && !hasMovedUp);
      setAtEnd(isFollowing.current);
    };
    const onSize = () => {
      if (isFollowing.current) {
        element.scrollTop = element.scrollHeight;
      }
    };
    const observer = new ResizeObserver(onSize);
    observer.observe(element);
    observer.observe(element.firstElementChild!);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, []);
  return { isFollowing, isAtEnd, toEnd, leaveEnd };
}

/** Keeps the visible rows where they are when the content in front of them, which `front` names, changes. */
export function useKeptPlace(box: Box, front: string, isFollowing: { current: boolean }): void {
  const rendered = useRef(front);
  const place = useRef<Place | null>(null);
  // This runs before the change of the document, as `getSnapshotBeforeUpdate` of a class does.
  if (front !== rendered.current && box.current && !isFollowing.current) {
    place.current = visiblePlace(box.current);
  }
  useLayoutEffect(() => {
    rendered.current = front;
    const kept = place.current;
    place.current = null;
    const row = kept && findRow(box, kept.key);
    const moved = row ? row.getBoundingClientRect().bottom - kept.bottom : 0;
    // Most browsers keep the place themselves. A needless write would cut a running gesture short.
    if (Math.abs(moved) >= 1) {
      box.current!.scrollTop += moved;
    }
  }, [front]);
}

interface TargetOptions {
  box: Box;
  rows: readonly { key: string }[];
  target: string | undefined;
  /** The searched words, which the view opens at within the row. */
  words: string | undefined;
  range: Range;
  setRange: (range: Range) => void;
  onReached: () => void;
}

/** Scrolls to a row once, as soon as it is loaded. */
export function useTarget({ box, rows, target, words, range, setRange, onReached }: TargetOptions): void {
  const isDone = useRef(target === undefined);
  const at = isDone.current ? -1 : rows.findIndex(({ key }) => key === target);
  useLayoutEffect(() => {
    if (isDone.current || at === -1) {
      return;
    }
    const row = findRow(box, target!);
    if (row === null) {
      setRange(around(rows.length - at, rows.length));
      return;
    }
    isDone.current = true;
    onReached();
    row.scrollIntoView({ block: "start" });
    if (words !== undefined) {
      showHit(box.current!, row, words);
    }
  }, [at, range]);
}

function findRow(box: Box, key: string): Element | null {
  return box.current!.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

/** The lower end of a row. A line with the day may come or go at the upper one. */
interface Place {
  key: string;
  bottom: number;
}

function visiblePlace(box: HTMLDivElement): Place | null {
  const edge = box.getBoundingClientRect().top;
  for (const row of box.querySelectorAll<HTMLElement>(".row")) {
    const { bottom } = row.getBoundingClientRect();
    if (bottom > edge) {
      return { key: row.dataset["key"]!, bottom };
    }
  }
  return null;
}
