import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Button } from "../parts/index.js";
import { useFollowEnd, useKeptPlace, useRange, useTarget, type Box } from "./scrolling.js";
import { newer, NEWEST, older } from "./window.js";

interface Props<Row extends { key: string }> {
  rows: readonly Row[];
  render: (row: Row, before: Row | undefined) => ComponentChildren;
  /** `true` if older rows can be loaded. */
  hasOlder: boolean;
  onOlder: () => void;
  /** The key of a row that the view opens at, once it is loaded. */
  target: string | undefined;
  /** The searched words in that row. */
  words: string | undefined;
  /** A new value brings the view to the end: the reader has sent a message. */
  endRequest: number;
  /** Shown after the newest row. */
  end: ComponentChildren;
}

/**
 * The scrolling list of a conversation. It opens at the end, follows new text there, and keeps the
 * reader's place otherwise. Only a part of the rows is in the document.
 */
export function History<Row extends { key: string }>(props: Props<Row>) {
  const { rows, render, hasOlder, onOlder, target, words, endRequest, end } = props;
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useRange(rows);
  const follow = useFollowEnd(box);
  const first = Math.max(rows.length - range.from, 0);
  const shown = rows.slice(first, rows.length - range.to);
  useKeptPlace(box, `${shown[0]?.key} ${hasOlder}`, follow.isFollowing);
  useTarget({ box, rows, target, words, range, setRange, onReached: follow.leaveEnd });

  const showOlder = () => {
    if (range.from < rows.length) {
      setRange(older(range, rows.length));
    } else if (hasOlder) {
      onOlder();
    }
  };
  const showNewest = () => {
    setRange(NEWEST);
    follow.toEnd();
  };
  useEffect(() => {
    if (endRequest > 0) {
      showNewest();
    }
  }, [endRequest]);
  return (
    <div class="history-frame">
      <div class="history" ref={box} tabIndex={0} role="region" aria-label="Conversation">
        <div class="history-rows">
          {(range.from < rows.length || hasOlder) && (
            <Edge key={`top${rows.length}/${range.from}`} box={box} onNear={showOlder} />
          )}
          {shown.map((row, at) => (
            <div class={row.key === target ? "row found" : "row"} key={row.key} data-key={row.key}>
              {render(row, rows[first + at - 1])}
            </div>
          ))}
          {range.to > 0 && <Edge key={`end${range.to}`} box={box} onNear={() => setRange(newer(range))} />}
          {range.to === 0 && end}
        </div>
      </div>
      {(!follow.isAtEnd || range.to > 0) && (
        <Button class="to-end" icon="down" onClick={showNewest}>Jump to latest</Button>
      )}
    </div>
  );
}

/** Calls `onNear` once when this end of the list comes near the visible part. */
function Edge({ box, onNear }: { box: Box; onNear: () => void }) {
  const edge = useRef<HTMLDivElement>(null);
  const latest = useRef(onNear);
  latest.current = onNear;
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && latest.current(),
      { root: box.current, rootMargin: "800px 0px" },
    );
    observer.observe(edge.current!);
    return () => observer.disconnect();
  }, []);
  return <div class="edge" ref={edge} />;
}
